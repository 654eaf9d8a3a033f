// SPDX-License-Identifier: Apache-2.0
// As nft(8) would write it, with a sealed run, a filtered one on a link of ours, and one in place:
//
//   table netdev ahSEALED {
//     chain ingress { hook ingress device ahSEALED priority 0; policy drop
//                     arp accept
//                     ip saddr INSIDE ip daddr GATEWAY tcp dport PORT accept }
//   }
//   table netdev ahFILTERED {
//     set never     { type ipv4_addr; flags interval; elements = { always denied } }
//     chain ingress { hook ingress device ahFILTERED priority 0; policy drop
//                     arp accept
//                     ip saddr != INSIDE counter drop
//                     ip saddr INSIDE ip daddr GATEWAY tcp dport PORT accept
//                     ip daddr GATEWAY tcp flags ack accept
//                     fib daddr type local counter reject
//                     ip daddr @never counter reject
//                     meta protocol ip accept }
//   }
//   table inet anchorhold {
//     set forwards { type ifname; elements = { ahFILTERED } }
//     set guests4, guests6 { elements = { what the engine gave to the run in place } }
//     chain forward     { hook forward priority 0; iifname @forwards accept; iifname "ah*" drop }
//     chain toward      { hook forward priority 1; oifname != "ah*" accept
//                         ct state established, related accept; counter drop }
//     chain postrouting { nat hook postrouting priority 100
//                         oifname != "ah*" iifname @forwards masquerade }
//     chain prerouting  { hook prerouting priority -150; ip saddr @guests4 jump guest; ... }
//     chain guest       { neighbour discovery accept; ct state established accept
//                         fib daddr type local counter reject }
//   }
//
// What a container may reach is decided by the table inside. The host's part is what that one
// cannot see, and a second opinion for the worst: which addresses are the host's own, asked at the
// time of the packet and before a DNAT rule of the host turns a published port into something else;
// metadata services; whose address the sender is. The link's own chain does it: it is before all
// NAT, other packets never meet it, and it outlives its link (in older kernels it goes with it),
// which is removed first. So nothing is left open in between.
//
// A host that probes the container gets its answers by their ACK flag, since a link's chain knows
// no connections. None can be opened with such a packet; by udp the host gets no answer.
//
// It is in a table of its own: the kernel checks a table whole whenever a rule is added, which at a
// thousand runs in one table took 5 ms (in tables of their own: no more than with none).
//
// The forward chain closes whatever link of ours has no element, as after half a teardown; a sealed
// run never has one, so a DNAT rule for its broker's port leads nowhere. It tracks no connection.
// Tracking costs every packet of the host, so `toward` and `postrouting` come with the first
// filtered run and `prerouting` with the first in place. Priority -150 is behind the tracking,
// which answers need, and before DNAT (-100).
#include "hooks/host_table.hpp"

#include "hooks/nft_elements.hpp"
#include "hooks/ruleset.hpp"

#include <algorithm>
#include <netinet/icmp6.h>
#include <netinet/in.h>

#include <linux/if_ether.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_tables.h>

namespace anchorhold {
namespace {

using namespace nft;

using Steps = std::vector<Step>;

constexpr Table shared = {NFPROTO_INET};
constexpr std::string_view our_links = "ah"; // what link_name() begins with
constexpr std::int32_t before_dnat = -150;
constexpr std::int32_t source_nat = 100;

const Set never_set = {"never", Keys::address4, Kind::ranges};
const Set forwards = {"forwards", Keys::link, Kind::single};
const Set guests4 = {"guests4", Keys::address4, Kind::single};
const Set guests6 = {"guests6", Keys::address6, Kind::single};

Rule rule(const char* chain)
{
    return {shared, chain};
}

// The run's own table and its device have one name.
struct OwnTable {
    std::string name;
    Table table() const { return {NFPROTO_NETDEV, name.c_str()}; }
    Rule rule() const { return {table(), "ingress"}; }
};
OwnTable own_table(const HostRun& run)
{
    return {link_name(run.key)};
}

bool is_forwarded(const HostRun& run)
{
    return run.posture == Posture::filtered && run.technique == Technique::veth;
}

// Everything on its own link, in the order in which the kernel lists a chain.
Steps seal_rules(const HostRun& run, const OwnTable& own)
{
    const Subnet subnet = run.network.subnet.value_or(Subnet());
    Steps steps;
    for (const std::uint16_t port : run.network.broker_ports) {
        steps.push_back(own.rule()
                            .address(Side::source, Ip::v4)
                            .equals(htonl(subnet.inside()))
                            .address(Side::destination, Ip::v4)
                            .equals(htonl(subnet.gateway()))
                            .protocol(IPPROTO_TCP)
                            .port(Side::destination)
                            .equals(htons(port))
                            .accept());
    }
    return steps;
}

void refuse_in(Steps& steps, const OwnTable& own)
{
    const auto local = [&]() -> Rule {
        return std::move(
            own.rule().meta(NFT_META_PROTOCOL).equals(htons(ETH_P_IP)).address_is_local());
    };
    const auto never = [&]() -> Rule {
        return std::move(own.rule().address(Side::destination, Ip::v4).in(never_set.name));
    };
    steps.push_back(local().protocol(IPPROTO_TCP).count().reset());
    steps.push_back(local().count().reject(NFT_REJECT_ICMPX_ADMIN_PROHIBITED));
    steps.push_back(never().protocol(IPPROTO_TCP).count().reset());
    steps.push_back(never().count().reject(NFT_REJECT_ICMPX_ADMIN_PROHIBITED));
}

Steps filter_rules(const HostRun& run, const OwnTable& own)
{
    const Subnet subnet = run.network.subnet.value_or(Subnet());
    Steps steps;
    steps.push_back(
        own.rule().address(Side::source, Ip::v4).differs(htonl(subnet.inside())).count().drop());
    append(steps, seal_rules(run, own));
    steps.push_back(own.rule()
                        .address(Side::destination, Ip::v4)
                        .equals(htonl(subnet.gateway()))
                        .protocol(IPPROTO_TCP)
                        .acknowledges()
                        .accept());
    refuse_in(steps, own);
    steps.push_back(own.rule().meta(NFT_META_PROTOCOL).equals(htons(ETH_P_IP)).accept());
    return steps;
}

Steps link_table(const HostRun& run)
{
    if (run.technique != Technique::veth)
        return {};
    const OwnTable own = own_table(run);
    Steps steps = {add_table(own.table(), Making::exclusive)};
    if (is_forwarded(run)) {
        steps.push_back(add_set(own.table(), never_set, Making::exclusive));
        append(steps,
               add_elements(own.table(), never_set.name,
                            ranges_of(always_denied(run.network.pool), Ip::v4), Making::exclusive));
    }
    steps.push_back(add_chain(own.table(), "ingress",
                              {"filter", NF_NETDEV_INGRESS, 0, NF_DROP, own.name},
                              Making::exclusive));
    steps.push_back(own.rule().meta(NFT_META_PROTOCOL).equals(htons(ETH_P_ARP)).accept());
    append(steps, is_forwarded(run) ? filter_rules(run, own) : seal_rules(run, own));
    return steps;
}

// Made so that it is there to be removed: that is how nothing there becomes no error.
Steps remove_link_table(const HostRun& run)
{
    if (run.technique != Technique::veth)
        return {};
    const OwnTable own = own_table(run);
    return {add_table(own.table(), Making::if_absent), remove_table(own.table())};
}

// A shared chain, made where it is missing; its rules are made again.
void hold_chain(Steps& steps, const char* name, const Hook& hook)
{
    steps.push_back(add_chain(shared, name, hook, Making::if_absent));
    steps.push_back(remove_rules(shared, name));
}

Steps forward_chain()
{
    Steps steps;
    hold_chain(steps, "forward", {"filter", NF_INET_FORWARD, 0, NF_ACCEPT, {}});
    steps.push_back(rule("forward").meta(NFT_META_IIFNAME).in(forwards.name).accept());
    steps.push_back(rule("forward").meta(NFT_META_IIFNAME).begins(our_links).count().drop());
    return steps;
}

Steps toward_chain()
{
    Steps steps;
    hold_chain(steps, "toward", {"filter", NF_INET_FORWARD, 1, NF_ACCEPT, {}});
    steps.push_back(rule("toward").meta(NFT_META_OIFNAME).begins_not(our_links).accept());
    steps.push_back(
        rule("toward")
            .has_state(NF_CT_STATE_BIT(IP_CT_ESTABLISHED) | NF_CT_STATE_BIT(IP_CT_RELATED))
            .accept());
    steps.push_back(rule("toward").count().drop());
    return steps;
}

Steps masquerade_chain()
{
    Steps steps;
    hold_chain(steps, "postrouting", {"nat", NF_INET_POST_ROUTING, source_nat, NF_ACCEPT, {}});
    steps.push_back(rule("postrouting")
                        .meta(NFT_META_OIFNAME)
                        .begins_not(our_links)
                        .meta(NFT_META_IIFNAME)
                        .in(forwards.name)
                        .masquerade());
    return steps;
}

Steps guest_chains()
{
    Steps steps;
    hold_chain(steps, "prerouting", {"filter", NF_INET_PRE_ROUTING, before_dnat, NF_ACCEPT, {}});
    steps.push_back(add_chain(shared, "guest", Making::if_absent));
    steps.push_back(remove_rules(shared, "guest"));
    steps.push_back(
        rule("prerouting").address(Side::source, Ip::v4).in(guests4.name).jump("guest"));
    steps.push_back(
        rule("prerouting").address(Side::source, Ip::v6).in(guests6.name).jump("guest"));
    const std::uint8_t discovery[] = {ND_ROUTER_SOLICIT, ND_NEIGHBOR_SOLICIT, ND_NEIGHBOR_ADVERT};
    for (const std::uint8_t type : discovery)
        steps.push_back(rule("guest").protocol(IPPROTO_ICMPV6).icmp6_type().equals(type).accept());
    steps.push_back(rule("guest").has_state(NF_CT_STATE_BIT(IP_CT_ESTABLISHED)).accept());
    steps.push_back(rule("guest").address_is_local().protocol(IPPROTO_TCP).count().reset());
    steps.push_back(
        rule("guest").address_is_local().count().reject(NFT_REJECT_ICMPX_ADMIN_PROHIBITED));
    return steps;
}

struct Own { // of the shared sets' elements; the other runs' are many and never dumped
    std::string set;
    Element element;
};
std::vector<Own> elements_of(const HostRun& run)
{
    if (is_forwarded(run))
        return {{forwards.name, {bytes_of_link(link_name(run.key)), {}, false}}};
    std::vector<Own> own;
    if (run.technique != Technique::in_place)
        return own;
    for (const Ip ip : {Ip::v4, Ip::v6}) {
        for (const Bytes& address : addresses_of(run.network.guest, ip))
            own.push_back({ip == Ip::v4 ? guests4.name : guests6.name, {address, {}, false}});
    }
    return own;
}

std::vector<Set> sets_for(const HostRun& run)
{
    return run.technique == Technique::in_place ? std::vector{guests4, guests6}
                                                : std::vector{forwards};
}

std::vector<const char*> chains_for(const HostRun& run)
{
    if (run.technique == Technique::in_place)
        return {"prerouting", "guest"};
    if (is_forwarded(run))
        return {"forward", "toward", "postrouting"};
    return {"forward"};
}

Steps shared_part(const HostRun& run)
{
    Steps steps;
    for (const Set& set : sets_for(run))
        steps.push_back(add_set(shared, set, Making::if_absent));
    if (run.technique == Technique::in_place) {
        append(steps, guest_chains());
    } else {
        append(steps, forward_chain());
        if (is_forwarded(run)) {
            append(steps, toward_chain());
            append(steps, masquerade_chain());
        }
    }
    for (const Own& own : elements_of(run))
        append(steps, add_elements(shared, own.set, {&own.element, 1}, Making::if_absent));
    return steps;
}

Steps transaction(Steps between)
{
    Steps steps = {begin(), add_table(shared, Making::if_absent)};
    append(steps, std::move(between));
    steps.push_back(commit());
    return steps;
}

Steps list_own(const HostRun& run)
{
    if (run.technique != Technique::veth)
        return {};
    const OwnTable own = own_table(run);
    return {get_table(own.table()), get_set(own.table(), never_set.name),
            get_chain(own.table(), "ingress"), list_rules(own.table(), "ingress"),
            list_elements(own.table(), never_set.name)};
}

Steps list_shared(const HostRun& run)
{
    Steps steps;
    for (const Set& set : sets_for(run))
        steps.push_back(get_set(shared, set.name));
    for (const char* const chain : chains_for(run))
        steps.push_back(get_chain(shared, chain));
    for (const char* const chain : chains_for(run))
        steps.push_back(list_rules(shared, chain));
    for (const Own& own : elements_of(run))
        steps.push_back(get_element(shared, own.set, own.element));
    return steps;
}

std::vector<std::string> lines_of(Ruleset own, const Ruleset& common)
{
    for (const auto& more : {own.elements, common.ours, common.elements})
        own.ours.insert(own.ours.end(), more.begin(), more.end());
    return std::move(own.ours);
}

// As list_shared asks: chains first, then rules.
void sort_chains_first(std::vector<std::string>& lines)
{
    const auto is_rule = [](const std::string& line) { return line.starts_with("rule "); };
    std::vector<std::string> rules;
    std::ranges::copy_if(lines, std::back_inserter(rules), is_rule);
    std::erase_if(lines, is_rule);
    lines.insert(lines.end(), rules.begin(), rules.end());
}

} // namespace

std::vector<Step> load_host_rules(const HostRun& run)
{
    Steps steps = remove_link_table(run);
    append(steps, link_table(run));
    append(steps, shared_part(run));
    return transaction(std::move(steps));
}

std::vector<Step> drop_host_rules(const HostRun& run)
{
    Steps steps = remove_link_table(run);
    for (const Set& set : sets_for(run))
        steps.push_back(add_set(shared, set, Making::if_absent));
    for (const Own& own : elements_of(run)) {
        append(steps, add_elements(shared, own.set, {&own.element, 1}, Making::if_absent));
        steps.push_back(remove_element(shared, own.set, own.element));
    }
    return transaction(std::move(steps));
}

std::vector<Step> drop_shared_table()
{
    return transaction({remove_table(shared)});
}

Result<bool> has_guests(Netlink& nftables)
{
    const Steps both = {list_elements(shared, guests4.name), list_elements(shared, guests6.name)};
    AH_TRY(const Ruleset seen, ask(nftables, shared, both), "");
    return !seen.elements.empty();
}

Result<std::vector<std::string>> host_rules_lines(const HostRun& run)
{
    const OwnTable own = own_table(run);
    AH_TRY(Ruleset planned, describe(own.table(), link_table(run)), "");
    AH_TRY(Ruleset common, describe(shared, shared_part(run)), "");
    sort_chains_first(common.ours);
    return lines_of(std::move(planned), std::move(common));
}

Result<std::vector<std::string>> ask_host_rules(Netlink& nftables, const HostRun& run)
{
    const OwnTable own = own_table(run);
    AH_TRY(Ruleset seen, ask(nftables, own.table(), list_own(run)), "");
    AH_TRY(Ruleset common, ask(nftables, shared, list_shared(run)), "");
    return lines_of(std::move(seen), std::move(common));
}

} // namespace anchorhold
