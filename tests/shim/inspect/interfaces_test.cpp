// SPDX-License-Identifier: Apache-2.0
#include "shim/inspect/interfaces.hpp"

#include <doctest/doctest.h>

namespace anchorhold::interfaces_test {

using namespace inspect;

TEST_CASE("interfaces are read from the kernel's table")
{
    CHECK(interfaces_in("Inter-|   Receive                |  Transmit\n"
                        " face |bytes    packets errs     |bytes    packets\n"
                        "    lo:       0       0    0        0       0\n"
                        "  eth0: 1 2\n"
                        "a-b@c.d:1 2\n") == std::vector<std::string>{"lo", "eth0", "a-b@c.d"});
    CHECK(interfaces_in("").empty());
    CHECK(interfaces_in("lo:").size() == 1);
}

} // namespace anchorhold::interfaces_test
