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

#include "hooks/host_shared.hpp"
#include "hooks/nft_elements.hpp"
#include "hooks/ruleset.hpp"

#include <algorithm>
#include <netinet/in.h>

#include <linux/if_ether.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

namespace anchorhold {
namespace {

using namespace nft;

using Steps = std::vector<Step>;

const Set never_set = {"never", Keys::address4, Kind::ranges};

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

Steps transaction(Steps between)
{
    Steps steps = {begin(), add_table(shared_table(), Making::if_absent)};
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

std::vector<std::string> lines_of(Ruleset own, const Ruleset& common)
{
    for (const auto& more : {own.elements, common.ours, common.elements})
        own.ours.insert(own.ours.end(), more.begin(), more.end());
    return std::move(own.ours);
}

} // namespace

std::vector<Step> add_host_rules(const HostRun& run, Shared shared)
{
    Steps steps = link_table(run);
    append(steps, shared == Shared::missing ? shared_part(run) : add_own_elements(run));
    return transaction(std::move(steps));
}

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
    append(steps, remove_own_elements(run));
    return transaction(std::move(steps));
}

std::vector<Step> drop_shared_table()
{
    return transaction({remove_table(shared_table())});
}

Result<std::vector<std::string>> host_rules_lines(const HostRun& run)
{
    const OwnTable own = own_table(run);
    AH_TRY(Ruleset planned, describe(own.table(), link_table(run)), "");
    AH_TRY(Ruleset common, describe(shared_table(), shared_part(run)), "");
    sort_chains_first(common.ours);
    return lines_of(std::move(planned), common);
}

Result<std::vector<std::string>> ask_host_rules(Netlink& nftables, const HostRun& run)
{
    const OwnTable own = own_table(run);
    AH_TRY(Ruleset seen, ask(nftables, own.table(), list_own(run)), "");
    AH_TRY(const Ruleset common, ask(nftables, shared_table(), list_shared(run)), "");
    return lines_of(std::move(seen), common);
}

} // namespace anchorhold
