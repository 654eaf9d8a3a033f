// SPDX-License-Identifier: Apache-2.0
#include "hooks/nft/elements.hpp"
#include "hooks/nft/inside_table.hpp"
#include "schema/rules/always_denied.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <libmnl/libmnl.h>
#include <netinet/in.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

namespace anchorhold::inside_table_test {

using namespace net;
using namespace nft;
using namespace rules;
namespace {

const InsidePlan severed;

InsidePlan sealed()
{
    InsidePlan plan;
    plan.posture = Posture::sealed;
    plan.network.subnet = Subnet{0xc6120000};
    plan.network.broker_ports = {8080, 443};
    plan.link = 7;
    return plan;
}

Prefix prefix(const char* text)
{
    return *Prefix::parse(text, Code::invalid_policy);
}

InsidePlan filtered()
{
    InsidePlan plan;
    plan.posture = Posture::filtered;
    plan.network.allow = {{prefix("10.1.0.0/16"), {443, 443, false}},
                          {prefix("fd01::/64"), {53, 53, true}}};
    plan.network.deny = {{prefix("10.1.9.0/24"), {1, 65535, false}},
                         {prefix("fd01::7"), {1, 65535, true}}};
    plan.network.node = {prefix("192.0.2.1"), prefix("fd00::1")};
    plan.network.delivered = {prefix("192.0.2.255"), prefix("fd00::")};
    return plan;
}

Ruleset ruleset_of(const InsidePlan& plan)
{
    const auto ruleset = expected_inside(plan);
    REQUIRE(ruleset);
    CHECK(ruleset->others.empty());
    return *ruleset;
}

using Lines = std::vector<std::string>;

// Parts that several rulesets share, which nft writes in one word each.
const std::string is_lo_in = " [ meta load iif => reg 1 ] [ cmp eq reg 1 0x00000001 ]";
const std::string is_lo_out = " [ meta load oif => reg 1 ] [ cmp eq reg 1 0x00000001 ]";
const std::string not_lo_out = " [ meta load oif => reg 1 ] [ cmp neq reg 1 0x00000001 ]";
const std::string is_tcp = " [ meta load l4proto => reg 1 ] [ cmp eq reg 1 0x00000006 ]";
const std::string is_udp = " [ meta load l4proto => reg 1 ] [ cmp eq reg 1 0x00000011 ]";
const std::string is_icmp = " [ meta load l4proto => reg 1 ] [ cmp eq reg 1 0x00000001 ]";
const std::string is_icmp6 = " [ meta load l4proto => reg 1 ] [ cmp eq reg 1 0x0000003a ]";
const std::string is_v4 = " [ meta load nfproto => reg 1 ] [ cmp eq reg 1 0x00000002 ]";
const std::string is_v6 = " [ meta load nfproto => reg 1 ] [ cmp eq reg 1 0x0000000a ]";
const std::string saddr = is_v4 + " [ payload load 4b @ network header + 12 => reg 1 ]";
const std::string daddr = is_v4 + " [ payload load 4b @ network header + 16 => reg 1 ]";
const std::string saddr6 = is_v6 + " [ payload load 16b @ network header + 8 => reg 1 ]";
const std::string daddr6 = is_v6 + " [ payload load 16b @ network header + 24 => reg 1 ]";
const std::string sport = " [ payload load 2b @ transport header + 0 => reg 1 ]";
const std::string dport = " [ payload load 2b @ transport header + 2 => reg 1 ]";
const std::string reach = daddr + " [ meta load l4proto => reg 9 ]"
                                  " [ payload load 2b @ transport header + 2 => reg 10 ]";
const std::string reach6 = daddr6 + " [ meta load l4proto => reg 2 ]"
                                    " [ payload load 2b @ transport header + 2 => reg 13 ]";
const std::string to_docker = daddr + " [ cmp eq reg 1 0x0b00007f ]";
const std::string accepted = " [ immediate reg 0 accept ]";
const std::string refuse = " [ immediate reg 0 jump -> refuse ]";
const std::string reset = " [ reject type 1 code 0 ]";
const std::string count = " [ counter ]";

std::string is_state(const char* bits)
{
    return std::string(" [ ct load state => reg 1 ] [ bitwise reg 1 = ( reg 1 & ") + bits +
           " ) ^ 0x00000000 ] [ cmp neq reg 1 0x00000000 ]";
}
const std::string established = is_state("0x00000002");
const std::string is_local = " [ fib daddr type => reg 1 ] [ cmp eq reg 1 0x00000002 ]";
const std::string dnat = " [ ct load status => reg 1 ] [ bitwise reg 1 = ( reg 1 & 0x00000020 )"
                         " ^ 0x00000000 ]";
const std::string is_dnat = dnat + " [ cmp neq reg 1 0x00000000 ]";
const std::string related = is_state("0x00000004");

std::string in(const char* set)
{
    return std::string(" [ lookup reg 1 set ") + set + " 0x0 ]";
}

std::string icmp6(const char* type)
{
    return is_icmp6 + " [ payload load 1b @ transport header + 0 => reg 1 ] [ cmp eq reg 1 " +
           type + " ]";
}

std::vector<std::string> doings_of(const std::vector<Step>& steps)
{
    std::vector<std::string> doings;
    for (const Step& step : steps)
        doings.push_back(step.doing);
    return doings;
}

} // namespace

TEST_CASE("the table of a severed or relayed run is exactly this")
{
    const Ruleset expected = {{
                                  "table inet anchorhold flags 0",
                                  "chain input type filter hook 1 prio 0 policy 0",
                                  "chain output type filter hook 3 prio 0 policy 0",
                                  "chain postrouting type filter hook 4 prio 0 policy 0",
                                  "rule input" + is_lo_in + accepted,
                                  "rule output" + to_docker + is_tcp + reset,
                                  "rule output" + to_docker + " [ reject type 2 code 1 ]",
                                  "rule output" + is_lo_out + accepted,
                                  "rule output" + is_tcp + reset,
                                  "rule output [ reject type 2 code 3 ]",
                                  "rule postrouting" + is_lo_out + accepted,
                              },
                              {},
                              {}};
    CHECK(ruleset_of(severed) == expected);
    InsidePlan relayed = sealed(); // the rest of the plan adds nothing to it
    relayed.posture = Posture::relayed;
    CHECK(ruleset_of(relayed) == expected);
}

TEST_CASE("the table of a sealed run adds its broker's ports on its one link")
{
    const std::string on_in = " [ meta load iif => reg 1 ] [ cmp eq reg 1 0x00000007 ]";
    const std::string on_out = " [ meta load oif => reg 1 ] [ cmp eq reg 1 0x00000007 ]";
    const std::string gateway = " [ cmp eq reg 1 0x010012c6 ]";
    const std::string from = on_in + saddr + gateway + is_tcp + sport + " [ cmp eq reg 1 ";
    const std::string to = on_out + daddr + gateway + is_tcp + dport + " [ cmp eq reg 1 ";
    const Lines expected = {
        "table inet anchorhold flags 0",
        "chain input type filter hook 1 prio 0 policy 0",
        "chain output type filter hook 3 prio 0 policy 0",
        "chain postrouting type filter hook 4 prio 0 policy 0",
        "rule input" + is_lo_in + accepted,
        "rule input" + from + "0x0000901f ]" + established + accepted,
        "rule input" + from + "0x0000bb01 ]" + established + accepted,
        "rule output" + to_docker + is_tcp + reset,
        "rule output" + to_docker + " [ reject type 2 code 1 ]",
        "rule output" + is_lo_out + accepted,
        "rule output" + to + "0x0000901f ]" + accepted,
        "rule output" + to + "0x0000bb01 ]" + accepted,
        "rule output" + is_tcp + reset,
        "rule output [ reject type 2 code 3 ]",
        "rule postrouting" + is_lo_out + accepted,
        "rule postrouting" + to + "0x0000901f ]" + accepted,
        "rule postrouting" + to + "0x0000bb01 ]" + accepted,
    };
    CHECK(ruleset_of(sealed()) == Ruleset{expected, {}, {}});
}

TEST_CASE("a sealed run without a subnet is a severed one")
{
    InsidePlan plan = sealed();
    plan.network.subnet.reset();
    CHECK(ruleset_of(plan) == ruleset_of(severed));
}

TEST_CASE("the table of a filtered run in place is exactly this")
{
    const Ruleset seen = ruleset_of(filtered());
    const Lines expected = {
        "table inet anchorhold flags 0",
        "chain input type filter hook 1 prio 0 policy 0",
        "chain output type filter hook 3 prio 0 policy 0",
        "chain forward type filter hook 2 prio 0 policy 0",
        "chain postrouting type filter hook 4 prio 200 policy 1",
        "chain refuse",
        "chain remember",
        "set near4 flags 4 key 4",
        "set near6 flags 4 key 16",
        "set node4 flags 4 key 4",
        "set node6 flags 4 key 16",
        "set never4 flags 4 key 4",
        "set never6 flags 4 key 16",
        "set deny4 flags 132 key 12 parts 040102",
        "set deny6 flags 132 key 24 parts 100102",
        "set allow4 flags 132 key 12 parts 040102",
        "set allow6 flags 132 key 24 parts 100102",
        "set denied4 flags 176 key 12 parts 040102 timeout 86400000",
        "set denied6 flags 176 key 24 parts 100102 timeout 86400000",
        "rule input" + is_lo_in + accepted,
        "rule input" + established + accepted,
        "rule input" + related + is_icmp + accepted,
        "rule input" + related + is_icmp6 + accepted,
        "rule input" + icmp6("0x00000086") + accepted,
        "rule input" + icmp6("0x00000087") + accepted,
        "rule input" + icmp6("0x00000088") + accepted,
        "rule input" + saddr + in("node4") + count + accepted,
        "rule input" + saddr6 + in("node6") + count + accepted,
        "rule input" + count + " [ immediate reg 0 drop ]",
        "rule output" + to_docker + is_tcp + reset,
        "rule output" + to_docker + " [ reject type 2 code 1 ]",
        "rule output" + is_lo_out + is_local + accepted,
        "rule output" + is_dnat + is_local + accepted,
        "rule output" + icmp6("0x00000085") + accepted,
        "rule output" + icmp6("0x00000087") + accepted,
        "rule output" + icmp6("0x00000088") + accepted,
        "rule output [ fib saddr type => reg 1 ] [ cmp neq reg 1 0x00000002 ]" + count + refuse,
        "rule output" + established + accepted,
        "rule output" + related + is_icmp + accepted,
        "rule output" + related + is_icmp6 + accepted,
        "rule output" + dnat + " [ cmp eq reg 1 0x00000000 ]" + saddr + in("near4") + count +
            refuse,
        "rule output" + saddr6 + in("near6") + count + refuse,
        "rule output [ fib daddr type => reg 1 ] [ cmp gte reg 1 0x00000002 ]"
        " [ cmp lte reg 1 0x00000005 ]" +
            count + refuse,
        "rule output" + daddr + in("never4") + count + refuse,
        "rule output" + daddr6 + in("never6") + count + refuse,
        "rule output" + reach + in("deny4") + count + refuse,
        "rule output" + reach6 + in("deny6") + count + refuse,
        "rule output" + reach + in("allow4") + count + accepted,
        "rule output" + reach6 + in("allow6") + count + accepted,
        "rule output" + count + refuse,
        "rule postrouting" + not_lo_out + is_local + count + " [ immediate reg 0 drop ]",
        "rule postrouting" + not_lo_out + is_dnat + saddr + in("near4") + count +
            " [ immediate reg 0 drop ]",
        "rule refuse" + count,
        "rule refuse" + is_tcp + " [ immediate reg 0 jump -> remember ]",
        "rule refuse" + is_udp + " [ immediate reg 0 jump -> remember ]",
        "rule refuse" + is_tcp + reset,
        "rule refuse [ reject type 2 code 3 ]",
        "rule remember" + reach + " [ dynset update reg_key 1 set denied4 timeout 0ms ]",
        "rule remember" + reach6 + " [ dynset update reg_key 1 set denied6 timeout 0ms ]",
    };
    CHECK(seen.ours == expected);
}

TEST_CASE("a filtered run's sets hold its lists, and what is always denied with the node's own")
{
    InsidePlan plan = filtered();
    const Lines elements = ruleset_of(plan).elements;
    const auto of = [&](std::string_view set) {
        Lines lines;
        for (const std::string& line : elements)
            if (line.starts_with(set))
                lines.push_back(line.substr(set.size()));
        return lines;
    };
    CHECK(of("allow4 ") == Lines{"0a0100000600000001bb0000-0a01ffff0600000001bb0000"});
    CHECK(of("deny4 ") == Lines{"0a0109000600000000010000-0a0109ff06000000ffff0000"});
    CHECK(of("node4 ") == Lines{"c0000201", "c0000202 end"});
    CHECK(of("allow6 ").size() == 1);
    CHECK(of("deny6 ").size() == 1);
    CHECK(of("node6 ").size() == 2);
    CHECK(of("denied4 ").empty());
    std::vector<Prefix> never = always_denied(plan.network.pool);
    never.insert(never.end(), plan.network.node.begin(), plan.network.node.end());
    never.insert(never.end(), plan.network.delivered.begin(), plan.network.delivered.end());
    const auto both =
        nft::ranges_of(never, nft::Ip::v4).size() + nft::ranges_of(never, nft::Ip::v6).size();
    CHECK(of("never4 ").size() + of("never6 ").size() == both);
    CHECK(of("never4 ")[0] == "00000000");
    CHECK(of("near4 ") == Lines{"7f000000", "80000000 end", "a9fe0000", "a9ff0000 end"});
    CHECK(of("near6 ").size() == 4);
    CHECK(elements.size() == both + 4 + 4 + 8);
}

TEST_CASE("a filtered run with a link of ours has its broker and no neighbour discovery")
{
    InsidePlan plan = filtered();
    Lines expected = ruleset_of(plan).ours;
    std::erase_if(expected,
                  [](const std::string& line) { return line.contains("1b @ transport"); });
    const auto at = std::ranges::find_if(
        expected, [](const std::string& line) { return line.contains("set never4 0x0"); });
    expected.insert(at, "rule output" + daddr + " [ cmp eq reg 1 0x010012c6 ]" + is_tcp + dport +
                            " [ cmp eq reg 1 0x0000901f ]" + count + accepted);
    for (std::string& line : expected) // the node is who sends on the one link
        if (line.starts_with("rule input") && line.contains("set node"))
            line.insert(10, " [ meta load iif => reg 1 ] [ cmp eq reg 1 0x00000007 ]");
    plan.link = 7;
    plan.network.subnet = Subnet{0xc6120000};
    plan.network.broker_ports = {8080};
    CHECK(ruleset_of(plan).ours == expected);
}

TEST_CASE("what enters a filtered run in place as the node is the node, by its MAC where known")
{
    InsidePlan plan = filtered();
    Lines expected = ruleset_of(plan).ours;
    for (std::string& line : expected)
        if (line.starts_with("rule input") && line.contains("set node"))
            line.insert(10, " [ meta load iiftype => reg 1 ] [ cmp eq reg 1 0x00000001 ]"
                            " [ payload load 6b @ link header + 6 => reg 1 ]"
                            " [ cmp eq reg 1 0x04030206 0x00000605 ]");
    plan.network.node_macs = {"06:02:03:04:05:06"};
    CHECK(ruleset_of(plan).ours == expected);
}

TEST_CASE("an empty list has no set and no rule")
{
    InsidePlan plan = filtered();
    plan.network.allow.clear();
    plan.network.deny.clear();
    plan.network.node.clear();
    for (const std::string& line : ruleset_of(plan).ours) {
        CAPTURE(line);
        for (const char* set : {"node4", "node6", "deny4", "deny6", "allow4", "allow6"})
            CHECK_FALSE(line.contains(" " + std::string(set) + " "));
    }
}

TEST_CASE("a list of thousands is cut into messages that the kernel can take")
{
    InsidePlan plan = filtered();
    plan.network.allow.clear();
    for (std::uint32_t i = 0; i < 2000; ++i) {
        const std::string to =
            "2001:db8::" + std::to_string(i / 1000) + ":" + std::to_string(i % 1000);
        plan.network.allow.push_back({prefix(to.c_str()), {443, 443, false}});
    }
    std::size_t elements = 0;
    for (const std::string& line : ruleset_of(plan).elements)
        elements += line.starts_with("allow6 ") ? 1 : 0;
    CHECK(elements == 2000);
    for (const Step& step : load_inside_table(plan, ExistingTable::none))
        CHECK(step.message.size() < 65536);
}

TEST_CASE("every step of the transaction but its edges asks for an acknowledgement")
{
    for (const InsidePlan& plan : {severed, sealed(), filtered()})
        for (const ExistingTable standing : {ExistingTable::none, ExistingTable::ours}) {
            const auto steps = load_inside_table(plan, standing);
            CHECK(header_of(steps.front().message)->nlmsg_type == NFNL_MSG_BATCH_BEGIN);
            CHECK(header_of(steps.back().message)->nlmsg_type == NFNL_MSG_BATCH_END);
            for (std::size_t i = 1; i + 1 < steps.size(); ++i)
                CHECK((header_of(steps[i].message)->nlmsg_flags & NLM_F_ACK) != 0);
        }
}

TEST_CASE("a table that must not be there is made exclusively")
{
    for (const Step& step : load_inside_table(severed, ExistingTable::none)) {
        const nlmsghdr* header = header_of(step.message);
        if (header->nlmsg_type == (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWTABLE))
            CHECK((header->nlmsg_flags & (NLM_F_CREATE | NLM_F_EXCL)) ==
                  (NLM_F_CREATE | NLM_F_EXCL));
    }
}

TEST_CASE("a table of ours is replaced in the same transaction, never merely deleted")
{
    const auto fresh = doings_of(load_inside_table(severed, ExistingTable::none));
    auto replaced = doings_of(load_inside_table(severed, ExistingTable::ours));
    REQUIRE(replaced.size() == fresh.size() + 1);
    CHECK(replaced[1] == "remove table inet anchorhold");
    replaced.erase(replaced.begin() + 1);
    CHECK(replaced == fresh);
}

TEST_CASE("a table is ours by name and family; every other is somebody's")
{
    auto steps = load_inside_table(severed, ExistingTable::none);
    Message table = steps[1].message;
    auto* family = reinterpret_cast<nfgenmsg*>(table.data() + sizeof(nlmsghdr));
    family->nfgen_family = NFPROTO_IPV4;
    Ruleset ruleset;
    REQUIRE(read_into(ruleset, inside_table(), table));
    CHECK(ruleset == Ruleset{{}, {}, {"ip anchorhold"}});
}

} // namespace anchorhold::inside_table_test
