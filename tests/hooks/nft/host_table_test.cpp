// SPDX-License-Identifier: Apache-2.0
#include "hooks/nft/elements.hpp"
#include "hooks/nft/host_table.hpp"
#include "schema/rules/always_denied.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <libmnl/libmnl.h>

#include <linux/netfilter/nfnetlink.h>

namespace anchorhold::host_table_test {

using namespace net;
using namespace nft;
using namespace rules;
namespace {

using Lines = std::vector<std::string>;

HostRun run(Posture posture, Technique technique)
{
    HostRun made;
    made.key = "0123456789ab";
    made.posture = posture;
    made.technique = technique;
    if (technique == Technique::veth)
        made.network.subnet = Subnet{0xc6120000};
    else
        made.network.guest = {*Prefix::parse("10.88.0.5", Code::invalid_policy),
                              *Prefix::parse("fd88::5", Code::invalid_policy)};
    made.network.broker_ports = {8080};
    return made;
}
const HostRun sealed = run(Posture::sealed, Technique::veth);
const HostRun filtered = run(Posture::filtered, Technique::veth);
const HostRun in_place = run(Posture::filtered, Technique::in_place);

Lines lines_of(const HostRun& one)
{
    const auto lines = host_rules_lines(one);
    REQUIRE(lines);
    return *lines;
}

Lines doings_of(const std::vector<Step>& steps)
{
    Lines doings;
    for (const Step& step : steps)
        doings.push_back(step.doing);
    return doings;
}

const std::string accepted = " [ immediate reg 0 accept ]";
const std::string dropped = " [ immediate reg 0 drop ]";
const std::string count = " [ counter ]";
const std::string is_arp = " [ meta load protocol => reg 1 ] [ cmp eq reg 1 0x00000608 ]";
const std::string is_ip = " [ meta load protocol => reg 1 ] [ cmp eq reg 1 0x00000008 ]";
const std::string is_tcp = " [ meta load l4proto => reg 1 ] [ cmp eq reg 1 0x00000006 ]";
const std::string saddr = is_ip + " [ payload load 4b @ network header + 12 => reg 1 ]";
const std::string daddr = is_ip + " [ payload load 4b @ network header + 16 => reg 1 ]";
const std::string is_delivered = " [ fib daddr type => reg 1 ] [ cmp gte reg 1 0x00000002 ]"
                                 " [ cmp lte reg 1 0x00000005 ]";
const std::string reset = " [ reject type 1 code 0 ]";
const std::string prohibited = " [ reject type 2 code 3 ]";
const std::string to_broker = saddr + " [ cmp eq reg 1 0x020012c6 ]" + daddr +
                              " [ cmp eq reg 1 0x010012c6 ]" + is_tcp +
                              " [ payload load 2b @ transport header + 2 => reg 1 ]"
                              " [ cmp eq reg 1 0x0000901f ]";
const std::string is_forwards = " [ lookup reg 1 set forwards 0x0 ]";
const std::string table = "table netdev anchorhold-2b flags 0";
const std::string in_chain = "rule ah0123456789ab";
const std::string chain =
    "chain ah0123456789ab type filter hook 0 prio 0 policy 0 device ah0123456789ab";
const std::string element = "forwards 6168303132333435363738396162"
                            "0000";

} // namespace

TEST_CASE("a sealed run's link lets through its broker's port and drops all else")
{
    CHECK(lines_of(sealed) ==
          Lines{
              table,
              chain,
              in_chain + is_arp + accepted,
              in_chain + to_broker + accepted,
              "set forwards flags 0 key 16",
              "chain forward type filter hook 2 prio 0 policy 1",
              "rule forward [ meta load iifname => reg 1 ]" + is_forwards + accepted,
              "rule forward [ meta load iifname => reg 1 ] [ cmp eq reg 1 0x00006861 ]" + count +
                  dropped,
          });
}

TEST_CASE("a filtered run's link lets through no other sender, and nothing that is the host's")
{
    Lines expected = {
        table,
        "set ah0123456789ab flags 4 key 4",
        chain,
        in_chain + is_arp + accepted,
        in_chain + saddr + " [ cmp neq reg 1 0x020012c6 ]" + count + dropped,
        in_chain + to_broker + accepted,
        in_chain + daddr + " [ cmp eq reg 1 0x010012c6 ]" + is_tcp +
            " [ payload load 1b @ transport header + 13 => reg 1 ]"
            " [ bitwise reg 1 = ( reg 1 & 0x00000010 ) ^ 0x00000000 ] [ cmp neq reg 1 0x00000000 "
            "]" +
            accepted,
        in_chain + is_ip + is_delivered + is_tcp + count + reset,
        in_chain + is_ip + is_delivered + count + prohibited,
        in_chain + daddr + " [ lookup reg 1 set ah0123456789ab 0x0 ]" + is_tcp + count + reset,
        in_chain + daddr + " [ lookup reg 1 set ah0123456789ab 0x0 ]" + count + prohibited,
        in_chain + is_ip + accepted,
    };
    const Lines behind = {
        "set forwards flags 0 key 16",
        "set switched flags 0 key 16",
        "chain forward type filter hook 2 prio 0 policy 1",
        "chain toward type filter hook 2 prio 1 policy 1",
        "chain postrouting type nat hook 4 prio 100 policy 1",
        "rule forward [ meta load iifname => reg 1 ]" + is_forwards + accepted,
        "rule forward [ meta load iifname => reg 1 ] [ cmp eq reg 1 0x00006861 ]" + count + dropped,
        "rule toward [ ct load state => reg 1 ] [ bitwise reg 1 = ( reg 1 & 0x00000006 ) ^ "
        "0x00000000 ] [ cmp neq reg 1 0x00000000 ]" +
            accepted,
        "rule toward [ meta load iifname => reg 1 ] [ lookup reg 1 set switched 0x0 ]" + count +
            dropped,
        "rule toward [ meta load oifname => reg 1 ] [ cmp neq reg 1 0x00006861 ]" + accepted,
        "rule toward" + count + dropped,
        "rule postrouting [ meta load oifname => reg 1 ] [ cmp neq reg 1 0x00006861 ]"
        " [ meta load iifname => reg 1 ]" +
            is_forwards + " [ masq ]",
        element,
    };
    Lines seen = lines_of(filtered);
    std::size_t never = 0;
    std::erase_if(seen, [&](const std::string& line) {
        const bool is = line.starts_with("ah0123456789ab ");
        never += is ? 1 : 0;
        return is;
    });
    CHECK(never == nft::ranges_of(always_denied(filtered.network.pool), nft::Ip::v4).size());
    expected.insert(expected.end(), behind.begin(), behind.end());
    CHECK(seen == expected);
}

TEST_CASE("a run in place is told by its addresses, and may answer the host but not begin")
{
    const auto icmp6 = [](const char* type) {
        return std::string(" [ meta load l4proto => reg 1 ] [ cmp eq reg 1 0x0000003a ]"
                           " [ payload load 1b @ transport header + 0 => reg 1 ]"
                           " [ cmp eq reg 1 ") +
               type + " ]";
    };
    CHECK(lines_of(in_place) ==
          Lines{
              "set guests4 flags 0 key 4",
              "set guests6 flags 0 key 16",
              "chain prerouting type filter hook 0 prio -150 policy 1",
              "chain guest",
              "rule prerouting [ meta load nfproto => reg 1 ] [ cmp eq reg 1 0x00000002 ]"
              " [ payload load 4b @ network header + 12 => reg 1 ]"
              " [ lookup reg 1 set guests4 0x0 ] [ immediate reg 0 jump -> guest ]",
              "rule prerouting [ meta load nfproto => reg 1 ] [ cmp eq reg 1 0x0000000a ]"
              " [ payload load 16b @ network header + 8 => reg 1 ]"
              " [ lookup reg 1 set guests6 0x0 ] [ immediate reg 0 jump -> guest ]",
              "rule guest" + icmp6("0x00000085") + accepted,
              "rule guest" + icmp6("0x00000087") + accepted,
              "rule guest" + icmp6("0x00000088") + accepted,
              "rule guest [ ct load state => reg 1 ] [ bitwise reg 1 = ( reg 1 & 0x00000002 ) ^ "
              "0x00000000 ] [ cmp neq reg 1 0x00000000 ]" +
                  accepted,
              "rule guest" + is_delivered + is_tcp + count + reset,
              "rule guest" + is_delivered + count + prohibited,
              "guests4 0a580005",
              "guests6 fd880000000000000000000000000005",
          });
}

TEST_CASE("tracking of connections is not turned on by a sealed run")
{
    for (const std::string& line : lines_of(sealed)) {
        CAPTURE(line);
        CHECK_FALSE(line.contains("[ ct "));
        CHECK_FALSE(line.contains("type nat"));
    }
}

TEST_CASE("what a run left is taken away in the transaction that makes it anew")
{
    for (const HostRun& one : {sealed, filtered}) {
        const auto doings = doings_of(load_host_rules(one));
        const Lines first(doings.begin(), doings.begin() + 8);
        CHECK(first == Lines{"begin the nftables transaction", "add table inet anchorhold",
                             "add table netdev anchorhold-2b", "add chain ah0123456789ab",
                             "remove chain ah0123456789ab", "add set ah0123456789ab",
                             "remove set ah0123456789ab", "add table netdev anchorhold-2b"});
        CHECK(doings.back() == "commit the nftables transaction");
    }
}

TEST_CASE("a run's chain is in the table that the end of its key names, one of 64")
{
    const auto table_of = [](const char* key) {
        HostRun one = sealed;
        one.key = key;
        return lines_of(one).front();
    };
    CHECK(table_of("000000000000") == "table netdev anchorhold-00 flags 0");
    CHECK(table_of("00000000003f") == "table netdev anchorhold-3f flags 0");
    CHECK(table_of("ffffffffff40") == "table netdev anchorhold-00 flags 0");
    CHECK(table_of("0000000000ff") == "table netdev anchorhold-3f flags 0");
}

TEST_CASE("what only tracks connections is made alone where all else stands")
{
    const auto doings = doings_of(add_host_rules(filtered, SharedTable::untracked));
    CHECK(std::count(doings.begin(), doings.end(), "add chain forward") == 0);
    CHECK(std::count(doings.begin(), doings.end(), "add chain toward") == 1);
    CHECK(std::count(doings.begin(), doings.end(), "add chain postrouting") == 1);
    CHECK(std::count(doings.begin(), doings.end(), "add elements to set forwards") == 1);
}

TEST_CASE("a shared chain's rules are made again, not added to")
{
    for (const HostRun& one : {sealed, filtered, in_place}) {
        Lines made;
        Lines emptied;
        for (const std::string& doing : doings_of(load_host_rules(one))) {
            if (doing.starts_with("add chain ") && !doing.ends_with(one.key))
                made.push_back(doing.substr(10));
            if (doing.starts_with("remove the rules of chain "))
                emptied.push_back(doing.substr(26));
        }
        CHECK(made == emptied);
        CHECK_FALSE(made.empty());
    }
}

TEST_CASE("dropping a run takes away its chain and its elements, and no other's")
{
    CHECK(doings_of(drop_host_rules(filtered)) ==
          Lines{"begin the nftables transaction", "add table inet anchorhold",
                "add table netdev anchorhold-2b", "add chain ah0123456789ab",
                "remove chain ah0123456789ab", "add set ah0123456789ab",
                "remove set ah0123456789ab", "add set forwards", "add elements to set forwards",
                "remove an element of set forwards", "commit the nftables transaction"});
    CHECK(doings_of(drop_host_rules(in_place)) ==
          Lines{"begin the nftables transaction", "add table inet anchorhold", "add set guests4",
                "add set guests6", "add elements to set guests4",
                "remove an element of set guests4", "add elements to set guests6",
                "remove an element of set guests6", "commit the nftables transaction"});
}

TEST_CASE("and in the same transaction what nobody needs then")
{
    const auto more = [](const HostRun& run, const UnneededTables& unused) {
        const auto doings = doings_of(drop_host_rules(run, unused, 7));
        const auto begin = doings.begin() + static_cast<long>(drop_host_rules(run).size()) - 1;
        return Lines(begin, doings.end() - 1);
    };
    CHECK(more(sealed, {}) == Lines{});
    CHECK(more(sealed, {.own_table = true, .older_table = true, .shared_table = true}) ==
          Lines{"remove empty table netdev anchorhold-2b", "remove table netdev ah0123456789ab",
                "remove table inet anchorhold"});
    CHECK(more(filtered, {.tracking = true}) ==
          Lines{"add chain toward", "remove chain toward", "add chain postrouting",
                "remove chain postrouting", "add set switched", "remove set switched"});
    CHECK(more(in_place, {.tracking = true}) == Lines{"add chain prerouting",
                                                      "remove chain prerouting", "add chain guest",
                                                      "remove chain guest"});
}

TEST_CASE("a guest's element says in which pid namespace its run was made")
{
    HostRun marked = in_place;
    marked.owner = "4:4026531836";
    Lines guests = lines_of(marked);
    std::erase_if(guests, [](const std::string& line) { return !line.starts_with("guests"); });
    CHECK(guests == Lines{"guests4 0a580005 anchorhold 4:4026531836",
                          "guests6 fd880000000000000000000000000005 anchorhold 4:4026531836"});
}

TEST_CASE("of a run on a link of ours the key is enough to drop it")
{
    HostRun bare;
    bare.key = filtered.key;
    bare.posture = Posture::filtered;
    const auto told = drop_host_rules(filtered);
    const auto known = drop_host_rules(bare);
    REQUIRE(told.size() == known.size());
    for (std::size_t i = 0; i < told.size(); ++i)
        CHECK(told[i].message == known[i].message);
}

TEST_CASE("every step of a host's transaction but its edges asks for an acknowledgement")
{
    for (const auto& steps :
         {load_host_rules(sealed), load_host_rules(filtered), load_host_rules(in_place),
          drop_host_rules(filtered), drop_host_rules(in_place),
          drop_host_rules(filtered, {true, true, true, true}, 7)}) {
        CHECK(header_of(steps.front().message)->nlmsg_type == NFNL_MSG_BATCH_BEGIN);
        CHECK(header_of(steps.back().message)->nlmsg_type == NFNL_MSG_BATCH_END);
        for (std::size_t i = 1; i + 1 < steps.size(); ++i)
            CHECK((header_of(steps[i].message)->nlmsg_flags & NLM_F_ACK) != 0);
    }
}

} // namespace anchorhold::host_table_test
