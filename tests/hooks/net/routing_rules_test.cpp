// SPDX-License-Identifier: Apache-2.0
#include "hooks/net/routes.hpp"

#include <doctest/doctest.h>

#include <array>
#include <libmnl/libmnl.h>

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

namespace anchorhold::routing_rules_test {

using namespace net;
namespace {

// A rule as the kernel tells it.
struct ToldRule {
    unsigned table = RT_TABLE_MAIN;
    std::uint8_t action = FR_ACT_TO_TBL;
    unsigned suppressed = 0xffffffff; // prefixes up to that length are suppressed
    std::uint8_t to_length = 0, from_length = 0, tos = 0;
    unsigned flags = 0;
    std::uint16_t further = 0; // one more attribute
};

RoutingRule rule_of(const ToldRule& told)
{
    alignas(nlmsghdr) std::array<char, 512> buffer{};
    nlmsghdr* header = mnl_nlmsg_put_header(buffer.data());
    header->nlmsg_type = RTM_NEWRULE;
    auto* body =
        static_cast<fib_rule_hdr*>(mnl_nlmsg_put_extra_header(header, sizeof(fib_rule_hdr)));
    body->family = AF_INET;
    body->action = told.action;
    body->dst_len = told.to_length;
    body->src_len = told.from_length;
    body->tos = told.tos;
    body->flags = told.flags;
    mnl_attr_put_u32(header, FRA_TABLE, told.table);
    mnl_attr_put_u32(header, FRA_SUPPRESS_PREFIXLEN, told.suppressed);
    mnl_attr_put_u32(header, FRA_PRIORITY, 100);
    mnl_attr_put_u8(header, FRA_PROTOCOL, 2);
    if (told.further != 0)
        mnl_attr_put_u32(header, told.further, 1);
    const auto* bytes = reinterpret_cast<const std::byte*>(header);
    const auto rule = read_routing_rule({bytes, bytes + header->nlmsg_len});
    REQUIRE(rule);
    return *rule;
}

std::string listed(const std::vector<RoutingRule>& rules)
{
    const auto tables = tables_to_list(rules);
    if (!tables)
        return "all";
    std::string text;
    for (const unsigned table : *tables)
        text += (text.empty() ? "" : " ") + std::to_string(table);
    return text;
}

} // namespace

TEST_CASE("a rule is plain when it sends every packet to a table, whatever is found there")
{
    CHECK(rule_of({}) == RoutingRule{RT_TABLE_MAIN, true});
    CHECK(rule_of({.table = 51820}) == RoutingRule{51820, true});
    CHECK(rule_of({.suppressed = 0}) == RoutingRule{RT_TABLE_MAIN, false});
    CHECK(rule_of({.to_length = 8}) == RoutingRule{RT_TABLE_MAIN, false});
    CHECK(rule_of({.from_length = 8}) == RoutingRule{RT_TABLE_MAIN, false});
    CHECK(rule_of({.tos = 4}) == RoutingRule{RT_TABLE_MAIN, false});
    CHECK(rule_of({.flags = FIB_RULE_INVERT}) == RoutingRule{RT_TABLE_MAIN, false});
    const std::uint16_t narrowing[] = {FRA_FWMARK, FRA_IIFNAME, FRA_UID_RANGE, FRA_L3MDEV, 1000};
    for (const std::uint16_t further : narrowing)
        CHECK(!rule_of({.further = further}).plain);
    for (const std::uint8_t action : {FR_ACT_GOTO, FR_ACT_BLACKHOLE, FR_ACT_UNREACHABLE})
        CHECK(rule_of({.action = action}).table == 0);
    CHECK(!read_routing_rule(list_routing_rules().message)); // it is a request
}

TEST_CASE("tables that rules name are listed, all where local and main are not asked for certain")
{
    const RoutingRule local{RT_TABLE_LOCAL, true};
    const RoutingRule main{RT_TABLE_MAIN, true};
    const RoutingRule fallback{RT_TABLE_DEFAULT, true};
    const RoutingRule marked{4000, false};
    const RoutingRule sometimes_main{RT_TABLE_MAIN, false};
    CHECK(listed({local, main}).empty());
    CHECK(listed({local, main, fallback}) == "253");
    CHECK(listed({marked, local, {52, true}, marked, sometimes_main, main}) == "52 4000");
    CHECK(listed({}) == "all");
    CHECK(listed({local, fallback}) == "all");
    CHECK(listed({main, fallback}) == "all");
    CHECK(listed({main, local}) == "all");
    CHECK(listed({local, sometimes_main}) == "all");
    CHECK(listed({local, {0, false}, main}) == "all");
    CHECK(listed({local, main, {0, false}}) == "all");
}

} // namespace anchorhold::routing_rules_test
