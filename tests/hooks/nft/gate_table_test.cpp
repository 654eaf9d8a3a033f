// SPDX-License-Identifier: Apache-2.0
#include "hooks/nft/inside_table.hpp"
#include "schema/rules/gate_rules.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace anchorhold::gate_table_test {

using namespace nft;
using namespace rules;
namespace {

// Parts that nft writes in one word each. Numbers are in the order of a packet's bytes.
const std::string reach4 = "[ meta load nfproto => reg 1 ] [ cmp eq reg 1 0x00000002 ] [ payload "
                           "load 4b @ network header + 16 => reg 1 ] [ meta load l4proto => reg 9 "
                           "] [ payload load 2b @ transport header + 2 => reg 10 ]";
const std::string reach6 = "[ meta load nfproto => reg 1 ] [ cmp eq reg 1 0x0000000a ] [ payload "
                           "load 16b @ network header + 24 => reg 1 ] [ meta load l4proto => reg 2 "
                           "] [ payload load 2b @ transport header + 2 => reg 13 ]";
const std::string to4 = "[ meta load nfproto => reg 1 ] [ cmp eq reg 1 0x00000002 ] [ payload load "
                        "4b @ network header + 16 => reg 1 ]";
const std::string from4 = "[ meta load nfproto => reg 1 ] [ cmp eq reg 1 0x00000002 ] [ payload "
                          "load 4b @ network header + 12 => reg 1 ]";
const std::string to6 = "[ meta load nfproto => reg 1 ] [ cmp eq reg 1 0x0000000a ] [ payload load "
                        "16b @ network header + 24 => reg 1 ]";
const std::string is_tcp = "[ meta load l4proto => reg 1 ] [ cmp eq reg 1 0x00000006 ]";
const std::string is_udp = "[ meta load l4proto => reg 1 ] [ cmp eq reg 1 0x00000011 ]";
const std::string port_53 =
    "[ payload load 2b @ transport header + 2 => reg 1 ] [ cmp eq reg 1 0x00003500 ]";
const std::string is_lo = "[ cmp eq reg 1 0x010013c6 ]";
const std::string take4 = "[ immediate reg 1 0x020013c6 ] [ immediate reg 2 0x00000100 ] [ tproxy "
                          "ip addr reg 1 port reg 2 ] [ immediate reg 0 accept ]";
const std::string refused = "[ immediate reg 0 jump -> refuse ]";
const std::string dead = "[ immediate reg 0 jump -> dead ]";
const std::string remembered = "[ immediate reg 0 jump -> remember ]";
const std::string accepted = "[ immediate reg 0 accept ]";
const std::string link_out = "[ meta load oif => reg 1 ]";
const std::string count = "[ counter ]";

Prefix prefix(const char* text)
{
    return *Prefix::parse(text, Code::invalid_policy);
}

Ruleset ruleset_of(std::vector<Reach> allow, std::vector<Reach> deny)
{
    InsidePlan plan{Posture::filtered, {}, 0, prefix("198.19.0.0/16")};
    plan.network.pool = GateRules::default_pool();
    plan.network.allow = std::move(allow);
    plan.network.deny = std::move(deny);
    const auto ruleset = expected_inside(plan);
    REQUIRE(ruleset);
    return *ruleset;
}

// Returns the elements of the sets that are not the same for every run.
std::vector<std::string> own_elements(const Ruleset& ruleset)
{
    std::vector<std::string> found;
    for (const std::string& line : ruleset.elements) {
        if (!line.starts_with("never"))
            found.push_back(line);
    }
    return found;
}

} // namespace

TEST_CASE("the table of a run with a gate is exactly this")
{
    const Ruleset seen = ruleset_of(
        {{prefix("198.19.0.0/16"), {443, 443, false}}, {prefix("fd01::/64"), {443, 443, false}}},
        {{prefix("10.1.9.0/24"), {1, 65535, false}}});
    const std::vector<std::string> expected{
        "table inet anchorhold flags 0",
        "chain capture type filter hook 0 prio -150 policy 1",
        "chain answers type filter hook 3 prio -150 policy 1",
        "chain input type filter hook 1 prio 0 policy 0",
        "chain output type filter hook 3 prio 0 policy 0",
        "chain postrouting type filter hook 4 prio 0 policy 0",
        "chain dead",
        "chain refuse",
        "chain remember",
        "set own4 flags 4 key 4",
        "set own6 flags 4 key 16",
        "set never4 flags 4 key 4",
        "set never6 flags 4 key 16",
        "set deny4 flags 132 key 12 parts 040102",
        "set allow4 flags 132 key 12 parts 040102",
        "set allow6 flags 132 key 24 parts 100102",
        "set denied4 flags 176 key 12 parts 040102 timeout 86400000",
        "set denied6 flags 176 key 24 parts 100102 timeout 86400000",
        "rule capture " + to4 + " " + is_lo + " " + is_udp + " " + port_53 +
            " [ immediate reg 1 0x010013c6 ] [ immediate reg 2 0x00000100 ] [ tproxy ip addr reg 1 "
            "port reg 2 ] " +
            accepted,
        "rule capture " + to4 + " " + is_lo + " " + is_tcp + " " + port_53 + " " + take4,
        "rule capture " + to4 + " " + is_lo + " " + is_udp + " " + port_53 + " " + dead,
        "rule capture " + to4 + " " + is_lo + " " + is_tcp + " " + port_53 + " " + dead,
        "rule capture " + to4 + " [ lookup reg 1 set own4 0x0 ] " + accepted,
        "rule capture " + to6 + " [ lookup reg 1 set own6 0x0 ] " + accepted,
        "rule capture " + reach4 + " [ lookup reg 1 set allow4 0x0 ] " + take4,
        "rule capture " + reach6 +
            " [ lookup reg 1 set allow6 0x0 ] [ immediate reg 1 0x00000000 0x00000000 0x00000000 "
            "0x01000000 ] [ immediate reg 2 0x00000100 ] [ tproxy ip6 addr reg 1 port reg 2 ] " +
            accepted,
        "rule capture " + reach4 + " [ lookup reg 1 set allow4 0x0 ] " + dead,
        "rule capture " + reach6 + " [ lookup reg 1 set allow6 0x0 ] " + dead,
        "rule answers " + from4 + " " + is_lo + " " + is_udp +
            " [ payload load 2b @ transport header + 0 => reg 1 ] [ cmp eq reg 1 0x00000100 ] [ "
            "immediate reg 1 0x00003500 ] [ payload write reg 1 => 2b @ transport header + 0 "
            "csum_type 1 csum_off 6 csum_flags 0x0 ]",
        "rule input [ meta load iif => reg 1 ] [ cmp eq reg 1 0x00000001 ] " + accepted,
        "rule output " + link_out + " [ cmp neq reg 1 0x00000001 ] " + count + " " + refused,
        "rule output " + to4 + " [ cmp eq reg 1 0x0b00007f ] " + dead,
        "rule output " + to4 + " [ lookup reg 1 set own4 0x0 ] " + accepted,
        "rule output " + to6 + " [ lookup reg 1 set own6 0x0 ] " + accepted,
        "rule output " + to4 + " [ lookup reg 1 set never4 0x0 ] " + count + " " + refused,
        "rule output " + to6 + " [ lookup reg 1 set never6 0x0 ] " + count + " " + refused,
        "rule output " + reach4 + " [ lookup reg 1 set deny4 0x0 ] " + count + " " + refused,
        "rule output " + reach4 + " [ lookup reg 1 set allow4 0x0 ] " + count + " " + accepted,
        "rule output " + reach6 + " [ lookup reg 1 set allow6 0x0 ] " + count + " " + accepted,
        "rule output " + count + " " + refused,
        "rule postrouting " + link_out + " [ cmp eq reg 1 0x00000001 ] " + accepted,
        "rule dead " + is_tcp + " [ reject type 1 code 0 ]",
        "rule dead [ reject type 2 code 1 ]",
        "rule refuse " + count,
        "rule refuse " + is_tcp + " " + remembered,
        "rule refuse " + is_udp + " " + remembered,
        "rule refuse " + is_tcp + " [ reject type 1 code 0 ]",
        "rule refuse [ reject type 2 code 3 ]",
        "rule remember " + reach4 + " [ dynset update reg_key 1 set denied4 timeout 0ms ]",
        "rule remember " + reach6 + " [ dynset update reg_key 1 set denied6 timeout 0ms ]"};
    CHECK(seen.ours == expected);
    CHECK(own_elements(seen) ==
          std::vector<std::string>{"allow4 c61300000600000001bb0000-c613ffff0600000001bb0000",
                                   "allow6 "
                                   "fd0100000000000000000000000000000600000001bb0000-"
                                   "fd01000000000000ffffffffffffffff0600000001bb0000",
                                   "deny4 0a0109000600000000010000-0a0109ff06000000ffff0000",
                                   "own4 7f000000", "own4 80000000 end", "own4 c6130001",
                                   "own4 c6130002 end", "own6 00000000000000000000000000000001",
                                   "own6 00000000000000000000000000000002 end"});
}

TEST_CASE("with an empty list nothing but lo's own addresses is accepted or captured")
{
    for (const std::string& line : ruleset_of({}, {}).ours) {
        const bool opens = line.ends_with("accept ]") && line.starts_with("rule ");
        const bool is_own = line.contains("set own4") || line.contains("set own6") ||
                            line.contains(is_lo) || line.starts_with("rule input") ||
                            line.starts_with("rule postrouting");
        CHECK_MESSAGE((!opens || is_own), line);
    }
}

} // namespace anchorhold::gate_table_test
