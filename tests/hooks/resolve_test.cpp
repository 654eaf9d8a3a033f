// SPDX-License-Identifier: Apache-2.0
// The resolution of names that are addresses already, so that no resolver is asked.
// integration/hooks/resolve.sh tests the rest.
#include "hooks/resolve.hpp"

#include <cerrno>
#include <doctest/doctest.h>
#include <sys/wait.h>

namespace anchorhold::resolve_test {

using namespace rules;
using namespace state;

TEST_CASE("names are answered in the order of asking, more of them than are asked at once")
{
    std::vector<std::string> names;
    std::vector<PinnedName> expected;
    for (int number = 99; number > 0; --number) {
        const std::string address = "192.0.2." + std::to_string(number);
        names.push_back(address);
        expected.push_back({address, {address}});
    }
    const auto pinned = resolve_names(names, Deadline(std::chrono::minutes(1)));
    REQUIRE(pinned.has_value());
    CHECK(*pinned == expected);
    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
    CHECK(errno == ECHILD);
}

TEST_CASE("an address has one spelling, and what is no name has none")
{
    const auto pinned = resolve_names({"::ffff:192.0.2.9", "2001:DB8:0::1", "", "a b", "[::1]"},
                                      Deadline(std::chrono::minutes(1)));
    REQUIRE(pinned.has_value());
    CHECK(*pinned == std::vector<PinnedName>{{"::ffff:192.0.2.9", {"192.0.2.9"}},
                                             {"2001:DB8:0::1", {"2001:db8::1"}},
                                             {"", {}},
                                             {"a b", {}},
                                             {"[::1]", {}}});
}

} // namespace anchorhold::resolve_test
