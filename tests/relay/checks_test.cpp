// SPDX-License-Identifier: Apache-2.0
#include "relay/checks.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <string>

namespace anchorhold::relay::checks_test {
namespace {

struct Read {
    std::string wrong;
    uint32_t gateway = 1;
};

Read read(const std::string& content)
{
    Read read;
    const char* wrong = read_enforced(content.data(), content.size(), "00ff", read.gateway);
    read.wrong = wrong == nullptr ? "" : wrong;
    return read;
}

} // namespace

TEST_CASE("a run's mark stands alone, or above the address of its link's other end")
{
    const Read alone = read("00ff\n");
    CHECK(alone.wrong.empty());
    CHECK(alone.gateway == 0);
    const Read linked = read("00ff\n198.18.0.1\n");
    CHECK(linked.wrong.empty());
    CHECK(linked.gateway == htonl(0xc6120001));
    CHECK(read("00ff\n255.255.255.255\n").wrong.empty());
}

TEST_CASE("another mark, or less than one, is of another run")
{
    for (const char* content :
         {"", "0", "00ff", "00fe\n", "00ff0\n", "\n", "00ff \n", "00fe\n198.18.0.1\n"}) {
        const Read got = read(content);
        CHECK(got.wrong == "it is of another run");
        CHECK(got.gateway == 0);
    }
}

TEST_CASE("a second line is one dotted IPv4 address and nothing more")
{
    for (const std::string line :
         {"\n", "198.18.0.1", "198.18.0.1\n\n", "198.18.0.1 \n", " 198.18.0.1\n", "198.18.0\n",
          "198.18.0.256\n", "host\n", "::1\n", "198.18.0.1\nx\n", "0198.018.0.1\n",
          "255.255.255.2555\n"}) {
        const Read got = read("00ff\n" + line);
        CHECK_MESSAGE(got.wrong == "its second line is no IPv4 address", line);
        CHECK(got.gateway == 0);
    }
    CHECK(read(std::string("00ff\n198.18.0.1\0\n", 17)).wrong ==
          "its second line is no IPv4 address");
}

} // namespace anchorhold::relay::checks_test
