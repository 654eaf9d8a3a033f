// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/hosts_file.hpp"

#include <doctest/doctest.h>

namespace anchorhold::hosts_file_test {

using namespace rules;
namespace {

const std::string loopback = "127.0.0.1 localhost\n::1 localhost\n";

Network pinning(std::vector<PinnedName> names)
{
    Network network;
    network.names = std::move(names);
    return network;
}

} // namespace

TEST_CASE("a hosts file names loopback, the container and every pinned address")
{
    const Network network = pinning({{"github.com", {"140.82.121.3", "140.82.121.4"}},
                                     {"nowhere.example", {}},
                                     {"pypi.org", {"151.101.0.223", "2a04:4e42::223"}}});
    CHECK(hosts_file(network, "agent-7", "") == loopback + "127.0.1.1 agent-7\n"
                                                           "140.82.121.3 github.com\n"
                                                           "140.82.121.4 github.com\n"
                                                           "151.101.0.223 pypi.org\n"
                                                           "2a04:4e42::223 pypi.org\n");
}

TEST_CASE("a hostname stands in it only where it is one, and takes nobody's name")
{
    const std::string label(63, 'a');
    const std::string whole = label + "." + label + "." + label + "." + std::string(61, 'a');
    for (const std::string& name : {std::string("Web_1"), std::string("a.b.c"), label, whole})
        CHECK(hosts_file({}, name, "") == loopback + "127.0.1.1 " + name + "\n");
    for (const std::string& name :
         {std::string(), std::string("a b"), std::string("a\n10.0.0.1 github.com"),
          std::string("."), std::string("a."), std::string(".a"), std::string("a..b"),
          std::string("a#b"), std::string("\xc3\xa4"), label + "a", whole + "a",
          std::string("localhost")})
        CHECK(hosts_file({}, name, "") == loopback);
    CHECK(hosts_file(pinning({{"pypi.org", {"151.101.0.223"}}}), "pypi.org", "") ==
          loopback + "151.101.0.223 pypi.org\n");
}

TEST_CASE("the engine's own entries stay, and ours follow")
{
    const Network network = pinning({{"pypi.org", {"151.101.0.223"}}});
    CHECK(hosts_file(network, "agent-7", "10.1.2.3 db\n172.17.0.2 agent-7\n") ==
          "10.1.2.3 db\n172.17.0.2 agent-7\n151.101.0.223 pypi.org\n");
    CHECK(hosts_file(network, "", "151.101.0.223 cdn pypi.org # here\n") ==
          "151.101.0.223 cdn pypi.org # here\n");
    CHECK(hosts_file(network, "agent-7", "10.1.2.3 db") == "10.1.2.3 db\n151.101.0.223 pypi.org\n");
}

} // namespace anchorhold::hosts_file_test
