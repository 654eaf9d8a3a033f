// SPDX-License-Identifier: Apache-2.0
#include "hooks/mountinfo.hpp"

#include <doctest/doctest.h>

using namespace anchorhold;

TEST_CASE("the mount table is read in its order, with blanks and optional fields")
{
    CHECK(read_mountinfo("21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
                         "136 121 0:43 /a\\040b /mnt/x\\040\\134y rw master:1 propagate_from:2 - "
                         "fuse.sshfs me@there:/ rw\n") ==
          std::vector<HostMount>{{"/", "ext4"}, {"/mnt/x \\y", "fuse.sshfs"}});
}

TEST_CASE("what is no line of a mount table is passed over")
{
    CHECK(read_mountinfo("").empty());
    CHECK(read_mountinfo("\n\n - \n1 2 3 - ext4 x y\n1 2 3:4 / relative rw - ext4 x y\n"
                         "21 1 8:1 / /a rw -\n21 1 8:1 / /b rw ext4")
              .empty());
    CHECK(read_mountinfo("1 1 8:1 / /a\\04 rw - ext4") ==
          std::vector<HostMount>{{"/a\\04", "ext4"}});
}
