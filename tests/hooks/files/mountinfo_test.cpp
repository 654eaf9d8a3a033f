// SPDX-License-Identifier: Apache-2.0
#include "hooks/files/mountinfo.hpp"

#include <doctest/doctest.h>

namespace anchorhold::mountinfo_test {

using namespace files;

TEST_CASE("the mount table is read in its order, with blanks and optional fields")
{
    CHECK(read_mountinfo("21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
                         "136 121 0:43 /a\\040b /mnt/x\\040\\134y rw master:1 propagate_from:2 - "
                         "fuse.sshfs me@there:/ rw\n") ==
          std::vector<HostMount>{{"/", "ext4", "/"}, {"/mnt/x \\y", "fuse.sshfs", "/a b"}});
}

TEST_CASE("what is no line of a mount table is passed over")
{
    CHECK(read_mountinfo("").empty());
    CHECK(read_mountinfo("\n\n - \n1 2 3 - ext4 x y\n1 2 3:4 / relative rw - ext4 x y\n"
                         "21 1 8:1 / /a rw -\n21 1 8:1 / /b rw ext4")
              .empty());
    CHECK(read_mountinfo("1 1 8:1 / /a\\04 rw - ext4") ==
          std::vector<HostMount>{{"/a\\04", "ext4", "/"}});
}

TEST_CASE("a network namespace that is mounted is known by its number")
{
    const auto mounts =
        read_mountinfo("312 290 0:4 net:[4026532281] /run/netns/x rw shared:9 - nsfs nsfs rw\n"
                       "313 290 0:4 mnt:[4026532282] /run/snapd/ns/y.mnt rw - nsfs nsfs rw\n"
                       "314 290 8:1 /net:[4026532283] /z rw - ext4 /dev/vda1 rw\n");
    REQUIRE(mounts.size() == 3);
    CHECK(keeps_netns(mounts[0], 4026532281));
    CHECK(!keeps_netns(mounts[0], 402653228));
    CHECK(!keeps_netns(mounts[1], 4026532282));
    CHECK(!keeps_netns(mounts[2], 4026532283));
}

} // namespace anchorhold::mountinfo_test
