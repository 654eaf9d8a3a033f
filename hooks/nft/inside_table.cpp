// SPDX-License-Identifier: Apache-2.0
// The table as nft(8) would write it, for severed and relayed:
//
//   table inet anchorhold {
//     chain input       { type filter hook input priority 0; policy drop; iif lo accept }
//     chain output      { type filter hook output priority 0; policy drop
//                         ip daddr 127.0.0.11 meta l4proto tcp reject with tcp reset
//                         ip daddr 127.0.0.11 reject with icmpx port-unreachable
//                         oif lo accept
//                         meta l4proto tcp reject with tcp reset
//                         reject with icmpx admin-prohibited }
//     chain postrouting { type filter hook postrouting priority 0; policy drop; oif lo accept }
//   }
//
// How it works, by posture:
//
// 1. Severed and relayed. Docker's resolver listens at 127.0.0.11 inside the namespace and answers
//    from the host, so that address is refused. Packets that may not leave are refused at once.
//    Nothing is accepted because it is established: severed means no answers either.
// 2. The postrouting chain is needed, and does not just repeat output. An engine's table may have a
//    DNAT rule on output. A packet for lo is then routed again and leaves by another link, but the
//    filter on output still sees lo (measured).
// 3. Sealed adds tcp between the one link and the gateway's broker ports, in all three chains. The
//    link is named by its index: a link that comes later has another index, whatever its name.
// 4. Filtered asks its list in the output chain, after every DNAT. Its order is: loopback, whose
//    packet it is, answers, the broker, what is always denied, the deny list, the allow list.
//    - Loopback is an address and a link. A socket that is bound to a link (SO_BINDTODEVICE) sends
//      packets for 127.0.0.2 there. A DNAT rule to an address of the container's own routes a
//      packet again, and output still sees the link of before. So postrouting, which sees the last
//      link, drops what is local and leaves by another link than lo.
//    - A packet leaves only with a source that is the container's own, and it is forwarded for
//      nobody. Binding to any IPv6 address needs no capability. Loopback and link-local sources
//      only answer the node: the host's rules know a container by its other addresses. A DNAT rule
//      for 127.0.0.1 needs a source NAT as well, so postrouting asks again what DNAT changed.
//    - What comes from the node's address is the node's by its MAC as well, where that is known.
//    - Nothing is broadcast: all of a link's neighbours would hear it, the host among them.
// 5. Filtered keeps what it denies, but only tcp and udp. Other protocols have no ports, and
//    their bytes would be read as ports.
//
// A container with CAP_NET_ADMIN could change this table, and then do what it likes inside. Packets
// of AF_PACKET do not cross these hooks; they need CAP_NET_RAW. The shim strips both capabilities.
#include "hooks/nft/inside_table.hpp"

#include "hooks/nft/elements.hpp"
#include "hooks/nft/rule.hpp"
#include "schema/rules/always_denied.hpp"

#include <netinet/icmp6.h>
#include <netinet/in.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

namespace anchorhold::nft {
namespace {

constexpr Table table = {NFPROTO_INET};
constexpr std::uint32_t loopback_index = 1;
constexpr std::int32_t behind_snat = 200;
constexpr std::uint8_t tcp = IPPROTO_TCP;
constexpr std::uint8_t udp = IPPROTO_UDP;
constexpr std::uint8_t icmp4 = IPPROTO_ICMP;
constexpr std::uint8_t icmp6 = IPPROTO_ICMPV6;
constexpr std::uint32_t established = NF_CT_STATE_BIT(IP_CT_ESTABLISHED);
constexpr std::uint32_t related = NF_CT_STATE_BIT(IP_CT_RELATED);

using Steps = std::vector<net::Step>;

Rule inside_rule(const char* chain)
{
    return {table, chain};
}

void add_chains(Steps& steps, const InsidePlan& plan)
{
    const auto chain = [&](const char* name, std::uint32_t hook) {
        steps.push_back(
            add_chain(table, name, {"filter", hook, 0, NF_DROP, {}}, Making::exclusive));
    };
    chain("input", NF_INET_LOCAL_IN);
    chain("output", NF_INET_LOCAL_OUT);
    if (plan.posture != Posture::filtered) {
        chain("postrouting", NF_INET_POST_ROUTING);
        return;
    }
    chain("forward", NF_INET_FORWARD);
    steps.push_back(add_chain(table, "postrouting",
                              {"filter", NF_INET_POST_ROUTING, behind_snat, NF_ACCEPT, {}},
                              Making::exclusive));
}

void refuse_docker_resolver(Steps& steps)
{
    const std::uint32_t resolver = htonl(0x7f00000b); // 127.0.0.11
    steps.push_back(inside_rule("output")
                        .address(Side::destination, Ip::v4)
                        .equals(resolver)
                        .protocol(tcp)
                        .reset());
    steps.push_back(inside_rule("output")
                        .address(Side::destination, Ip::v4)
                        .equals(resolver)
                        .reject(NFT_REJECT_ICMPX_PORT_UNREACH));
}

void refuse(Steps& steps, const char* chain)
{
    steps.push_back(inside_rule(chain).protocol(tcp).reset());
    steps.push_back(inside_rule(chain).reject(NFT_REJECT_ICMPX_ADMIN_PROHIBITED));
}

net::Step accept_loopback(const char* chain, std::uint32_t direction)
{
    return inside_rule(chain).meta(direction).equals(loopback_index).accept();
}

std::uint32_t gateway_of(const InsidePlan& plan) // in network byte order
{
    return htonl(plan.network.subnet.value_or(rules::Subnet()).gateway());
}

// Begins a rule for packets to the broker. Those of a sealed run must go over the plan's link.
Rule to_broker(const char* chain, const InsidePlan& plan, std::uint16_t port)
{
    Rule made = inside_rule(chain);
    if (plan.posture == Posture::sealed)
        made.meta(NFT_META_OIF).equals(plan.link);
    made.address(Side::destination, Ip::v4).equals(gateway_of(plan));
    made.protocol(tcp).port(Side::destination).equals(htons(port));
    return made;
}

net::Step from_broker(const InsidePlan& plan, std::uint16_t port)
{
    return inside_rule("input")
        .meta(NFT_META_IIF)
        .equals(plan.link)
        .address(Side::source, Ip::v4)
        .equals(gateway_of(plan))
        .protocol(tcp)
        .port(Side::source)
        .equals(htons(port))
        .has_state(established)
        .accept();
}

// Returns the rules of severed, relayed and sealed. Only sealed has broker ports.
Steps narrow_rules(const InsidePlan& plan)
{
    static const std::vector<std::uint16_t> none;
    const bool linked = plan.posture == Posture::sealed && plan.network.subnet;
    const auto& ports = linked ? plan.network.broker_ports : none;
    Steps steps;
    steps.push_back(accept_loopback("input", NFT_META_IIF));
    for (const std::uint16_t port : ports)
        steps.push_back(from_broker(plan, port));
    refuse_docker_resolver(steps);
    steps.push_back(accept_loopback("output", NFT_META_OIF));
    for (const std::uint16_t port : ports)
        steps.push_back(to_broker("output", plan, port).accept());
    refuse(steps, "output");
    steps.push_back(accept_loopback("postrouting", NFT_META_OIF));
    for (const std::uint16_t port : ports)
        steps.push_back(to_broker("postrouting", plan, port).accept());
    return steps;
}

void accept_answers(Steps& steps, const char* chain)
{
    steps.push_back(inside_rule(chain).has_state(established).accept());
    // Only related errors (icmp) are accepted. The second connection of an FTP helper is related as
    // well, but no list allows it.
    for (const std::uint8_t icmp : {icmp4, icmp6})
        steps.push_back(inside_rule(chain).has_state(related).protocol(icmp).accept());
}

// Accepts neighbour discovery (RFC 4861). The IPv6 network of an engine does not work without it. A
// link of ours has no IPv6 address and does not need it.
void accept_discovery(Steps& steps, const char* chain, std::uint8_t router_message)
{
    const std::uint8_t types[] = {router_message, ND_NEIGHBOR_SOLICIT, ND_NEIGHBOR_ADVERT};
    for (const std::uint8_t type : types)
        steps.push_back(inside_rule(chain).protocol(icmp6).icmp6_type().equals(type).accept());
}

// The sets of a filtered run's table, without those of what it denies.
struct Sets {
    std::vector<std::pair<Set, std::vector<Element>>> all;

    void add(const char* name, Keys keys, std::vector<Element> elements)
    {
        if (!elements.empty())
            all.emplace_back(Set{name, keys, Kind::ranges}, std::move(elements));
    }
    bool has(const char* name) const
    {
        for (const auto& [set, elements] : all) {
            if (set.name == name)
                return true;
        }
        return false;
    }
};

// Returns the ranges that are somebody's only on one link. Others may have the same addresses.
std::vector<rules::Prefix> near_ranges()
{
    std::vector<rules::Prefix> ranges;
    for (const char* const text : {"127.0.0.0/8", "169.254.0.0/16", "::1/128", "fe80::/10"})
        ranges.push_back(*rules::Prefix::parse(text, Code::network_setup_failed)); // cannot fail
    return ranges;
}

Sets sets_of(const rules::Network& network)
{
    std::vector<rules::Prefix> never = rules::always_denied(network.pool);
    never.insert(never.end(), network.node.begin(), network.node.end());
    never.insert(never.end(), network.delivered.begin(), network.delivered.end());
    Sets sets;
    sets.add("near4", Keys::address4, ranges_of(near_ranges(), Ip::v4));
    sets.add("near6", Keys::address6, ranges_of(near_ranges(), Ip::v6));
    sets.add("node4", Keys::address4, ranges_of(network.node, Ip::v4));
    sets.add("node6", Keys::address6, ranges_of(network.node, Ip::v6));
    sets.add("never4", Keys::address4, ranges_of(never, Ip::v4));
    sets.add("never6", Keys::address6, ranges_of(never, Ip::v6));
    sets.add("deny4", Keys::reach4, reaches_of(network.deny, Ip::v4));
    sets.add("deny6", Keys::reach6, reaches_of(network.deny, Ip::v6));
    sets.add("allow4", Keys::reach4, reaches_of(network.allow, Ip::v4));
    sets.add("allow6", Keys::reach6, reaches_of(network.allow, Ip::v6));
    return sets;
}

void add_sets(Steps& steps, const Sets& sets)
{
    for (const auto& [set, elements] : sets.all) {
        steps.push_back(add_set(table, set, Making::exclusive));
        append(steps, add_elements(table, set.name, elements, Making::exclusive));
    }
    steps.push_back(add_set(table, {"denied4", Keys::reach4, Kind::denied}, Making::exclusive));
    steps.push_back(add_set(table, {"denied6", Keys::reach6, Kind::denied}, Making::exclusive));
}

// Begins the rules for packets of the node, one for each MAC that it may have. On a link of ours
// there is nobody but the node.
std::vector<Rule> from_node(const InsidePlan& plan)
{
    std::vector<Rule> made;
    for (const std::string& mac : plan.network.node_macs)
        made.push_back(std::move(inside_rule("input").is_from_mac(mac)));
    if (made.empty())
        made.push_back(inside_rule("input"));
    if (plan.network.subnet)
        made.front().meta(NFT_META_IIF).equals(plan.link);
    return made;
}

void filter_input(Steps& steps, const InsidePlan& plan, const Sets& sets)
{
    steps.push_back(accept_loopback("input", NFT_META_IIF));
    accept_answers(steps, "input");
    if (!plan.network.subnet)
        accept_discovery(steps, "input", ND_ROUTER_ADVERT);
    for (const auto& [ip, set] : {std::pair(Ip::v4, "node4"), std::pair(Ip::v6, "node6")}) {
        if (!sets.has(set))
            continue;
        for (Rule& from : from_node(plan)) // it probes the container, and forwards ports to it
            steps.push_back(from.address(Side::source, ip).in(set).count().accept());
    }
    steps.push_back(inside_rule("input").count().drop());
}

// Accepts what stays in the namespace: on lo, or by a DNAT rule that routes it to lo.
void accept_local(Steps& steps)
{
    steps.push_back(inside_rule("output")
                        .meta(NFT_META_OIF)
                        .equals(loopback_index)
                        .address_is_local()
                        .accept());
    steps.push_back(inside_rule("output").is_sent_elsewhere(true).address_is_local().accept());
}

// Refuses the sources that other links may have as well, and destinations that are no one host's.
void refuse_near(Steps& steps)
{
    Rule near4 = inside_rule("output");
    near4.is_sent_elsewhere(false).address(Side::source, Ip::v4).in("near4");
    steps.push_back(near4.count().jump("refuse"));
    Rule near6 = inside_rule("output");
    steps.push_back(near6.address(Side::source, Ip::v6).in("near6").count().jump("refuse"));
    steps.push_back(inside_rule("output").is_delivered_here().count().jump("refuse"));
}

void filter_output(Steps& steps, const InsidePlan& plan, const Sets& sets)
{
    refuse_docker_resolver(steps);
    accept_local(steps);
    if (!plan.network.subnet)
        accept_discovery(steps, "output", ND_ROUTER_SOLICIT);
    steps.push_back(inside_rule("output").source_is_foreign().count().jump("refuse"));
    accept_answers(steps, "output");
    refuse_near(steps);
    if (plan.network.subnet) {
        for (const std::uint16_t port : plan.network.broker_ports)
            steps.push_back(to_broker("output", plan, port).count().accept());
    }
    if (sets.has("never4")) {
        steps.push_back(inside_rule("output")
                            .address(Side::destination, Ip::v4)
                            .in("never4")
                            .count()
                            .jump("refuse"));
    }
    if (sets.has("never6")) {
        steps.push_back(inside_rule("output")
                            .address(Side::destination, Ip::v6)
                            .in("never6")
                            .count()
                            .jump("refuse"));
    }
    if (sets.has("deny4"))
        steps.push_back(inside_rule("output").reach(Ip::v4).in("deny4").count().jump("refuse"));
    if (sets.has("deny6"))
        steps.push_back(inside_rule("output").reach(Ip::v6).in("deny6").count().jump("refuse"));
    if (sets.has("allow4"))
        steps.push_back(inside_rule("output").reach(Ip::v4).in("allow4").count().accept());
    if (sets.has("allow6"))
        steps.push_back(inside_rule("output").reach(Ip::v6).in("allow6").count().accept());
    steps.push_back(inside_rule("output").count().jump("refuse"));
    const auto leaving = [] {
        return std::move(inside_rule("postrouting").meta(NFT_META_OIF).differs(loopback_index));
    };
    steps.push_back(leaving().address_is_local().count().drop());
    Rule near4 = leaving();
    near4.is_sent_elsewhere(true).address(Side::source, Ip::v4).in("near4");
    steps.push_back(near4.count().drop());
}

Steps filtered_rules(const InsidePlan& plan)
{
    const Sets sets = sets_of(plan.network);
    Steps steps;
    steps.push_back(add_chain(table, "refuse", Making::exclusive));
    steps.push_back(add_chain(table, "remember", Making::exclusive));
    add_sets(steps, sets);
    filter_input(steps, plan, sets);
    filter_output(steps, plan, sets);
    steps.push_back(inside_rule("refuse").count().end());
    for (const std::uint8_t protocol : {tcp, udp})
        steps.push_back(inside_rule("refuse").protocol(protocol).jump("remember"));
    refuse(steps, "refuse");
    steps.push_back(inside_rule("remember").reach(Ip::v4).remember("denied4"));
    steps.push_back(inside_rule("remember").reach(Ip::v6).remember("denied6"));
    return steps;
}

} // namespace

const Table& inside_table()
{
    return table;
}

std::vector<net::Step> load_inside_table(const InsidePlan& plan, ExistingTable standing)
{
    Steps steps;
    steps.push_back(begin());
    if (standing == ExistingTable::ours)
        steps.push_back(remove_table(table));
    steps.push_back(add_table(table, Making::exclusive));
    if (plan.handles) {
        append(steps, fill_gate_table(*plan.handles, plan.network));
    } else {
        add_chains(steps, plan);
        const bool wide = plan.posture == Posture::filtered;
        append(steps, wide ? filtered_rules(plan) : narrow_rules(plan));
    }
    steps.push_back(commit());
    return steps;
}

Result<Ruleset> expected_inside(const InsidePlan& plan)
{
    return describe(table, load_inside_table(plan, ExistingTable::none));
}

std::vector<net::Step> list_denied()
{
    return {list_elements(table, "denied4"), list_elements(table, "denied6")};
}

net::Step list_denied_count()
{
    return list_rules(table, "refuse");
}

} // namespace anchorhold::nft
