// SPDX-License-Identifier: Apache-2.0
// What a policy says of ranges of our own, and of the gate.
#include "schema/policy.hpp"

#include "tests/schema/policies.hpp"

#include <doctest/doctest.h>

namespace anchorhold::policy_network_test {

TEST_CASE("a pool is a range of IPv4 with room for two runs, apart from what is always denied")
{
    CHECK(policy_of("{}").pool.text() == "198.18.0.0/16");
    for (const std::string text :
         {"10.0.0.0/8", "10.255.255.248/29", "198.18.4.0/24", "172.16.0.0/12"}) {
        CHECK(policy_of(R"({"pool":")" + text + R"("})").pool.text() == text);
    }
    const auto pool = [](const std::string& text) {
        return refusal(R"({"pool":")" + text + R"("})");
    };
    for (const std::string text : {"12.0.0.0/7", "10.0.0.0/30", "10.0.0.4", "fd00::/29"})
        CHECK(pool(text) == "pool: expected a prefix of IPv4 between /8 and /29");
    CHECK(pool("10.0.0.1/24") == "pool: \"10.0.0.1/24\" has bits set beyond its prefix length");
    CHECK(pool("some") == "pool: \"some\" is not an address");
    CHECK(pool("127.1.0.0/16") == "pool: meets 127.0.0.0/8, which no run reaches");
    CHECK(pool("192.0.0.0/16") == "pool: meets 192.0.0.0/24, which no run reaches");
    CHECK(pool("168.63.129.0/24") == "pool: meets 168.63.129.16/32, which no run reaches");
    CHECK(refusal(R"({"pool":null})") == "pool: expected a string");
}

TEST_CASE("handles are a range of IPv4 of their own, with room for every epoch")
{
    CHECK(policy_of("{}").handles.text() == "198.19.0.0/16");
    CHECK(policy_of(R"({"handles":"10.0.0.0/8"})").handles.text() == "10.0.0.0/8");
    for (const std::string text : {"198.19.0.0/17", "fd00::/8", "12.0.0.0/7"})
        CHECK(refusal(R"({"handles":")" + text + R"("})") ==
              "handles: expected a prefix of IPv4 between /8 and /16");
    CHECK(refusal(R"({"handles":"169.254.0.0/16"})") ==
          "handles: meets 169.254.0.0/16, which no run reaches");
    for (const std::string text : {"198.18.0.0/15", "198.19.4.0/24", "198.0.0.0/8"})
        CHECK(refusal(R"({"pool":")" + text + R"("})") ==
              "pool: meets the handles 198.19.0.0/16; choose another range, or say \"handles\" "
              "as well");
    CHECK(refusal(R"({"handles":"198.18.0.0/16"})") ==
          "handles: meets the pool 198.18.0.0/16; choose another range");
    CHECK(policy_of(R"({"pool":"198.18.0.0/15","handles":"10.0.0.0/8"})").pool.text() ==
          "198.18.0.0/15");
}

TEST_CASE("only lists of the policy have words for the gate, and a deny list has none")
{
    const auto rule = policy_of(R"({"allow":[{"to":"*.x.org","tls":"no-ech",
        "within":["10.0.0.0/8"],"public_suffix":true}]})")
                          .allow->front();
    CHECK(rule.tls == rules::Tls::no_ech);
    CHECK(rule.within.front().text() == "10.0.0.0/8");
    CHECK(rule.public_suffix);
    CHECK(policy_of(R"({"profiles":{"p":{"allow":[{"to":"x.org","tls":"any"}]}}})")
              .find("p")
              ->allow->front()
              .tls == rules::Tls::any);
    CHECK(refusal(R"({"deny":[{"to":"x.org","tls":"any"}]})") ==
          "deny[0].tls: has no place in a deny list");
    CHECK(refusal(R"({"allow":[{"to":"10.0.0.0/8","within":[]}]})") ==
          "allow[0].within: has a place only beside a name");
    CHECK(refusal(R"({"allow":[{"to":"x.org","public_suffix":true}]})") ==
          "allow[0].public_suffix: has a place only beside a wildcard");
    CHECK(refusal(R"({"allow":[{"to":"x.org","tls":"none"}]})") ==
          "allow[0].tls: expected same-name, no-ech or any");
}

TEST_CASE("an endpoint of a profile may follow a name into private ranges, and nothing else")
{
    const auto endpoint = [](const std::string& to) {
        return R"({"profiles":{"p":{"endpoints":[{"name":"m","listen":1,"to":")" + to +
               R"(","within":["10.0.0.0/8"]}]}}})";
    };
    CHECK(policy_of(endpoint("tcp:x.org:1")).find("p")->endpoints.front().within.front().text() ==
          "10.0.0.0/8");
    for (const std::string to : {"unix:/a/b", "tcp:host:1", "tcp:10.0.0.1:1"})
        CHECK(refusal(endpoint(to)) == "profiles.p.endpoints[0].within: has a place only beside "
                                       "tcp: and a name");
}

} // namespace anchorhold::policy_network_test
