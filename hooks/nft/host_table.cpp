// SPDX-License-Identifier: Apache-2.0
// The host's rules as nft(8) would write them, for three runs: one sealed, one filtered on a link
// of ours, and one filtered in place.
//
//   table netdev anchorhold-2b {
//     chain ahSEALED   { hook ingress device ahSEALED priority 0; policy drop
//                        arp accept
//                        ip saddr INSIDE ip daddr GATEWAY tcp dport PORT accept }
//     set ahFILTERED   { type ipv4_addr; flags interval; elements = { always denied } }
//     chain ahFILTERED { hook ingress device ahFILTERED priority 0; policy drop
//                        arp accept
//                        ip saddr != INSIDE counter drop
//                        ip saddr INSIDE ip daddr GATEWAY tcp dport PORT accept
//                        ip daddr GATEWAY tcp flags ack accept
//                        fib daddr type { local, broadcast, anycast, multicast }
//                            counter reject
//                        ip daddr @ahFILTERED counter reject
//                        meta protocol ip accept }
//   }
//   table inet anchorhold {
//     set forwards { type ifname; elements = { ahFILTERED } }
//     set switched { type ifname; elements = { the links that we made forward } }
//     set guests4, guests6 { elements = { the addresses that the engine gave the run in place,
//                                         each with a comment: the run's pid namespace } }
//     chain forward     { hook forward priority 0; iifname @forwards accept; iifname "ah*" drop }
//     chain toward      { hook forward priority 1; ct state established, related accept
//                         iifname @switched counter drop; oifname != "ah*" accept
//                         counter drop }
//     chain postrouting { nat hook postrouting priority 100
//                         oifname != "ah*" iifname @forwards masquerade }
//     chain prerouting  { hook prerouting priority -150; ip saddr @guests4 jump guest; ... }
//     chain guest       { neighbour discovery accept; ct state established accept
//                         fib daddr type { local, broadcast, anycast, multicast }
//                             counter reject }
//   }
//
// How the rules work:
//
// 1. The table inside the container decides what the container may reach. The host's rules see what
//    that table cannot see, and check the worst cases a second time: would the host deliver it to
//    itself, is it a metadata service, is the sender's address the run's own?
// 2. The chain of the run's link asks that. It comes before all NAT, so a DNAT rule of the host has
//    not yet turned a published port into something else. Which addresses are the host's own is
//    asked for each packet. Packets of other links never cross this chain.
// 3. At teardown the link is set down first. The chain outlives its link (in older kernels it ends
//    with it). So nothing is open in between.
// 4. The host may open connections to a filtered run, for example to probe it. The answers are let
//    through by their ACK flag, because a link's chain knows no connections. No connection can be
//    opened with such a packet. The host gets no answers by udp.
// 5. The `forward` chain drops the packets of any link of ours that has no element, for example
//    after half a teardown. A sealed run never has an element, so a DNAT rule for its broker's port
//    leads nowhere. This chain tracks no connections.
// 6. Tracking connections costs every packet of the host. So `toward` and `postrouting` come with
//    the first filtered run, `prerouting` comes with the first run in place, and each goes with the
//    last. Priority -150 comes after the tracking, which `guest` needs to know answers, and before
//    DNAT (-100).
// 7. `switched` is empty unless forwarding.hpp has put links there. What comes in on them is
//    forwarded because of us. So only answers are let through: they are our runs', because nothing
//    that begins there is.
//
// Why there are 64 tables: the key decides which table holds a run's chain. The kernel checks a
// whole table whenever a rule is added, and walks through all tables for each message that names
// one. A thousand runs in one table cost 5 ms of every set-up, in a table each 0.5 ms. With 64
// tables neither cost can be seen. A table that will be empty is removed with the run, if the
// kernel finds it empty: in older kernels its count of what is in the table shrinks with each link
// that has ended.
#include "hooks/nft/host_table.hpp"

#include "hooks/nft/elements.hpp"
#include "hooks/nft/host_shared.hpp"
#include "hooks/nft/rule.hpp"
#include "hooks/nft/ruleset_text.hpp"
#include "schema/rules/always_denied.hpp"

#include <algorithm>
#include <charconv>
#include <netinet/in.h>

#include <linux/if_ether.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

namespace anchorhold::nft {
namespace {

using namespace nft;

using Steps = std::vector<net::Step>;

constexpr std::uint32_t table_count = 64; // the last two hex digits of the key, modulo 64
constexpr std::string_view own_prefix = "anchorhold-";

// The names of a run's own objects. Its chain, its device and its set of what is always denied
// share one name. table() points into this object, which must outlive it.
struct OwnNames {
    std::string table_name;
    std::string name;
    Table table() const { return {NFPROTO_NETDEV, table_name.c_str()}; }
    Rule rule() const { return {table(), name}; }
    Set never() const { return {name, Keys::address4, Kind::ranges}; }
};
OwnNames own_of(const HostRun& run)
{
    std::uint32_t number = 0;
    const char* const end = run.key.data() + run.key.size(); // the key is empty for addresses alone
    (void)std::from_chars(end - std::min<std::size_t>(run.key.size(), 2), end, number, 16);
    constexpr std::string_view digits = "0123456789abcdef";
    number %= table_count;
    return {std::string(own_prefix) + digits[number >> 4] + digits[number & 15],
            rules::link_name(run.key)};
}

// Returns the rules of a sealed run on its own link, in the order in which the kernel lists them.
Steps seal_rules(const HostRun& run, const OwnNames& own)
{
    const rules::Subnet subnet = run.network.subnet.value_or(rules::Subnet());
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

void refuse_in(Steps& steps, const OwnNames& own)
{
    const auto local = [&]() -> Rule {
        return std::move(
            own.rule().meta(NFT_META_PROTOCOL).equals(htons(ETH_P_IP)).is_delivered_here());
    };
    const auto never = [&]() -> Rule {
        return std::move(own.rule().address(Side::destination, Ip::v4).in(own.name));
    };
    steps.push_back(local().protocol(IPPROTO_TCP).count().reset());
    steps.push_back(local().count().reject(NFT_REJECT_ICMPX_ADMIN_PROHIBITED));
    steps.push_back(never().protocol(IPPROTO_TCP).count().reset());
    steps.push_back(never().count().reject(NFT_REJECT_ICMPX_ADMIN_PROHIBITED));
}

Steps filter_rules(const HostRun& run, const OwnNames& own)
{
    const rules::Subnet subnet = run.network.subnet.value_or(rules::Subnet());
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

Steps add_link_chain(const HostRun& run)
{
    if (run.technique != Technique::veth)
        return {};
    const OwnNames own = own_of(run);
    Steps steps = {add_table(own.table(), Making::if_absent)};
    if (is_forwarded(run)) {
        steps.push_back(add_set(own.table(), own.never(), Making::exclusive));
        append(steps, add_elements(own.table(), own.name,
                                   ranges_of(rules::always_denied(run.network.pool), Ip::v4),
                                   Making::exclusive));
    }
    steps.push_back(add_chain(own.table(), own.name,
                              {"filter", NF_NETDEV_INGRESS, 0, NF_DROP, own.name},
                              Making::exclusive));
    steps.push_back(own.rule().meta(NFT_META_PROTOCOL).equals(htons(ETH_P_ARP)).accept());
    append(steps, is_forwarded(run) ? filter_rules(run, own) : seal_rules(run, own));
    return steps;
}

// Removes the chain and its set. Each is first made if it is missing, because removing a missing
// one would be an error.
Steps remove_link_chain(const HostRun& run)
{
    if (run.technique != Technique::veth)
        return {};
    const OwnNames own = own_of(run);
    return {
        add_table(own.table(), Making::if_absent),
        add_chain(own.table(), own.name, Making::if_absent), remove_chain(own.table(), own.name),
        add_set(own.table(), own.never(), Making::if_absent), remove_set(own.table(), own.never())};
}

Steps transaction(Steps between, std::uint32_t generation = 0)
{
    Steps steps = {begin(generation), add_table(shared_table(), Making::if_absent)};
    append(steps, std::move(between));
    steps.push_back(commit());
    return steps;
}

Steps remove_run(const HostRun& run)
{
    Steps steps = remove_link_chain(run);
    append(steps, remove_own_elements(run));
    return steps;
}

Steps list_own(const HostRun& run)
{
    if (run.technique != Technique::veth)
        return {};
    const OwnNames own = own_of(run);
    Steps steps = {get_table(own.table())};
    if (is_forwarded(run))
        steps.push_back(get_set(own.table(), own.name));
    steps.push_back(get_chain(own.table(), own.name));
    steps.push_back(list_rules(own.table(), own.name));
    if (is_forwarded(run))
        steps.push_back(list_elements(own.table(), own.name));
    return steps;
}

std::vector<std::string> lines_of(Ruleset own, const Ruleset& common)
{
    for (const auto& more : {own.elements, common.ours, common.elements})
        own.ours.insert(own.ours.end(), more.begin(), more.end());
    return std::move(own.ours);
}

} // namespace

std::vector<net::Step> add_host_rules(const HostRun& run, SharedTable shared)
{
    Steps steps = add_link_chain(run);
    if (shared == SharedTable::missing)
        append(steps, shared_part(run));
    if (shared == SharedTable::untracked)
        append(steps, tracking_part());
    if (shared != SharedTable::missing)
        append(steps, add_own_elements(run));
    return transaction(std::move(steps));
}

std::vector<net::Step> load_host_rules(const HostRun& run)
{
    Steps steps = remove_link_chain(run);
    append(steps, add_link_chain(run));
    append(steps, shared_part(run));
    append(steps, remove_own_elements(run)); // one that is there keeps its comment
    append(steps, add_own_elements(run));
    return transaction(std::move(steps));
}

std::vector<net::Step> drop_host_rules(const HostRun& run)
{
    return transaction(remove_run(run));
}

Result<UnneededTables> ask_unneeded(net::Netlink& nftables, const HostRun& run)
{
    const OwnNames own = own_of(run);
    const bool on_link = run.technique == Technique::veth;
    Steps parts;
    if (on_link)
        parts = {get_chain(own.table(), own.name), get_set(own.table(), own.name)};
    AH_TRY(const Ruleset seen, ask(nftables, own.table(), parts));
    AH_TRY(const auto tables, ask_tables(nftables));
    UnneededTables unused;
    unused.own_table = on_link; // also when it is missing: the transaction makes it first
    bool others = false;
    for (const TableUse& table : tables) {
        if (table.family != NFPROTO_NETDEV)
            continue;
        if (on_link && table.name == own.table_name) {
            unused.own_table = table.use == seen.ours.size();
            others = others || table.use > seen.ours.size();
        } else if (on_link && table.name == own.name) {
            unused.older_table = true;
        } else if (table.name.starts_with(own_prefix) || key_of_link(table.name)) {
            others = others || table.use != 0;
        }
    }
    const bool tracked = is_forwarded(run) || !on_link;
    if (others && !tracked)
        return unused;
    AH_TRY(const RunRules elements, ask_run_elements(nftables));
    const bool forwards = std::ranges::any_of(
        elements.links, [&](const std::string& link) { return !on_link || link != own.name; });
    const bool guests = std::ranges::any_of(elements.guests, [&](const GuestRules& guest) {
        return on_link || !rules::is_covered(guest.address, run.network.guest);
    });
    unused.shared_table = !others && !forwards && !guests;
    unused.tracking = tracked && !unused.shared_table && !(on_link ? forwards : guests);
    return unused;
}

std::vector<net::Step> drop_host_rules(const HostRun& run, const UnneededTables& unused,
                                       std::uint32_t generation)
{
    const OwnNames own = own_of(run);
    Steps steps = remove_run(run);
    if (unused.own_table)
        steps.push_back(remove_empty_table(own.table()));
    if (unused.older_table)
        steps.push_back(remove_table({NFPROTO_NETDEV, own.name.c_str()}));
    if (unused.tracking)
        append(steps, remove_tracking(run));
    if (unused.shared_table)
        steps.push_back(remove_table(shared_table()));
    return transaction(std::move(steps), generation);
}

Result<RunRules> ask_run_rules(net::Netlink& nftables)
{
    AH_TRY(RunRules rules, ask_run_elements(nftables));
    AH_TRY(const auto tables, ask_tables(nftables));
    for (const TableUse& table : tables) {
        if (table.family != NFPROTO_NETDEV)
            continue;
        if (key_of_link(table.name)) // an earlier build made it
            rules.links.push_back(table.name);
        // An empty table is reported by a key made up for it, of a run that would be in it.
        if (table.name.starts_with(own_prefix) && table.use == 0)
            rules.links.push_back(
                rules::link_name("0000000000" + table.name.substr(own_prefix.size())));
    }
    AH_TRY(const auto chains, ask_chains(nftables, NFPROTO_NETDEV));
    for (const ChainName& chain : chains) {
        if (chain.table.starts_with(own_prefix) && key_of_link(chain.name))
            rules.links.push_back(chain.name);
    }
    return rules;
}

Result<std::vector<std::string>> host_rules_lines(const HostRun& run)
{
    const OwnNames own = own_of(run);
    AH_TRY(Ruleset planned, describe(own.table(), add_link_chain(run)));
    AH_TRY(Ruleset common, describe(shared_table(), shared_part(run)));
    sort_sets_first(common.ours);
    return lines_of(std::move(planned), common);
}

Result<std::vector<std::string>> ask_host_rules(net::Netlink& nftables, const HostRun& run)
{
    const OwnNames own = own_of(run);
    AH_TRY(Ruleset seen, ask(nftables, own.table(), list_own(run)));
    AH_TRY(const Ruleset common, ask(nftables, shared_table(), list_shared(run)));
    return lines_of(std::move(seen), common);
}

} // namespace anchorhold::nft
