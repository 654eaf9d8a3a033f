// SPDX-License-Identifier: Apache-2.0
// The table of a run that is served by a gate. Its namespace has lo alone, and routes that make
// every address lo's. So each packet comes back in at prerouting, where a transparent socket of the
// gate's takes it, whatever its address is. As nft(8) would write it, with handles 198.19.0.0/16:
//
//   chain capture { type filter hook prerouting priority -150; policy accept
//                   ip daddr 198.19.0.1 udp dport 53 tproxy ip to 198.19.0.1:1 accept
//                   ip daddr 198.19.0.1 tcp dport 53 tproxy ip to 198.19.0.2:1 accept
//                   ip daddr 198.19.0.1 udp dport 53 jump dead
//                   ip daddr 198.19.0.1 tcp dport 53 jump dead
//                   ip daddr @own4 accept
//                   ip6 daddr @own6 accept
//                   ip daddr . meta l4proto . th dport @allow4 tproxy ip to 198.19.0.2:1 accept
//                   ip6 daddr . meta l4proto . th dport @allow6 tproxy ip6 to [::1]:1 accept
//                   ip daddr . meta l4proto . th dport @allow4 jump dead
//                   ip6 daddr . meta l4proto . th dport @allow6 jump dead }
//   chain dead    { meta l4proto tcp reject with tcp reset
//                   reject with icmpx port-unreachable }
//   chain answers { type filter hook output priority -150; policy accept
//                   ip saddr 198.19.0.1 udp sport 1 udp sport set 53 }
//   chain input, postrouting: lo alone
//   chain output  { type filter hook output priority 0; policy drop
//                   oif != lo jump refuse
//                   (127.0.0.11 is refused)
//                   ip daddr @own4 accept
//                   ip6 daddr @own6 accept
//                   (never4, never6, deny4, deny6) jump refuse
//                   (allow4, allow6) accept
//                   jump refuse }
//   chain refuse, remember: as in a filtered run's table
//
// 1. A tproxy rule without its listener does nothing. The rule behind it then refuses, so that a
//    gate that is gone is a refusal at once, and no server inside at that port gets what was meant
//    for a name.
// 2. A question is captured and not sent to another port by rewriting: the kernel's refusal would
//    name a port that the client did not ask, and the client would hear nothing of it. Only the
//    answer's port is rewritten. Both sockets of the gate have a port that nobody wants, so servers
//    inside have port 53 and every other.
// 3. Nothing is tracked (conntrack): packets of one connection are known by its socket.
// 4. Allowed packets and the gate's answers are told apart by the sets: answers go to lo's own
//    addresses, from any.
#include "hooks/nft/inside_table.hpp"

#include "hooks/nft/elements.hpp"
#include "hooks/nft/rule.hpp"
#include "schema/rules/always_denied.hpp"
#include "schema/rules/gate_rules.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <netinet/in.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

namespace anchorhold::nft {
namespace {

constexpr std::int32_t mangle_priority = -150;
constexpr std::uint32_t index_of_lo = 1;
constexpr std::uint16_t dns_port = 53;

Rule gate_rule(const char* chain)
{
    return {inside_table(), chain};
}

// Host byte order to the bytes of a packet.
std::array<std::uint8_t, 4> packet_bytes(std::uint32_t address)
{
    const std::uint32_t ordered = htonl(address);
    std::array<std::uint8_t, 4> bytes{};
    std::memcpy(bytes.data(), &ordered, sizeof ordered);
    return bytes;
}

// The sets, those that have elements.
class GateSets {
public:
    void add(std::vector<net::Step>& steps, const char* name, Keys keys,
             const std::vector<Element>& elements)
    {
        if (elements.empty())
            return;
        names_.emplace_back(name);
        steps.push_back(add_set(inside_table(), {name, keys, Kind::ranges}, Making::exclusive));
        append(steps, add_elements(inside_table(), name, elements, Making::exclusive));
    }
    bool has(std::string_view name) const
    {
        return std::ranges::find(names_, name) != names_.end();
    }

private:
    std::vector<std::string> names_;
};

std::vector<rules::Prefix> own_ranges(const rules::Prefix& handles)
{
    std::vector<rules::Prefix> ranges;
    for (const std::string& text : {std::string("127.0.0.0/8"),
                                    rules::dotted(rules::lo_address(handles)), std::string("::1")})
        ranges.push_back(*rules::Prefix::parse(text, Code::network_setup_failed)); // cannot fail
    return ranges;
}

GateSets add_gate_sets(std::vector<net::Step>& steps, const rules::Prefix& handles,
                       const rules::Network& network)
{
    const std::vector<rules::Prefix> own = own_ranges(handles);
    const std::vector<rules::Prefix> never = rules::always_denied(network.pool);
    GateSets sets;
    sets.add(steps, "own4", Keys::address4, ranges_of(own, Ip::v4));
    sets.add(steps, "own6", Keys::address6, ranges_of(own, Ip::v6));
    sets.add(steps, "never4", Keys::address4, ranges_of(never, Ip::v4));
    sets.add(steps, "never6", Keys::address6, ranges_of(never, Ip::v6));
    sets.add(steps, "deny4", Keys::reach4, reaches_of(network.deny, Ip::v4));
    sets.add(steps, "deny6", Keys::reach6, reaches_of(network.deny, Ip::v6));
    sets.add(steps, "allow4", Keys::reach4, reaches_of(network.allow, Ip::v4));
    sets.add(steps, "allow6", Keys::reach6, reaches_of(network.allow, Ip::v6));
    const Table& table = inside_table();
    steps.push_back(add_set(table, {"denied4", Keys::reach4, Kind::denied}, Making::exclusive));
    steps.push_back(add_set(table, {"denied6", Keys::reach6, Kind::denied}, Making::exclusive));
    return sets;
}

void add_gate_chains(std::vector<net::Step>& steps)
{
    const auto chain = [&](const char* name, std::uint32_t hook, std::int32_t priority,
                           std::uint32_t policy) {
        steps.push_back(add_chain(inside_table(), name, {"filter", hook, priority, policy, {}},
                                  Making::exclusive));
    };
    chain("capture", NF_INET_PRE_ROUTING, mangle_priority, NF_ACCEPT);
    chain("answers", NF_INET_LOCAL_OUT, mangle_priority, NF_ACCEPT);
    chain("input", NF_INET_LOCAL_IN, 0, NF_DROP);
    chain("output", NF_INET_LOCAL_OUT, 0, NF_DROP);
    chain("postrouting", NF_INET_POST_ROUTING, 0, NF_DROP);
    for (const char* const name : {"dead", "refuse", "remember"})
        steps.push_back(add_chain(inside_table(), name, Making::exclusive));
}

Rule to_names(const char* chain, std::uint32_t lo, std::uint8_t protocol)
{
    Rule made = gate_rule(chain);
    made.address(Side::destination, Ip::v4).equals(htonl(lo));
    made.protocol(protocol).port(Side::destination).equals(htons(dns_port));
    return made;
}

void accept_own(std::vector<net::Step>& steps, const char* chain)
{
    steps.push_back(gate_rule(chain).address(Side::destination, Ip::v4).in("own4").accept());
    steps.push_back(gate_rule(chain).address(Side::destination, Ip::v6).in("own6").accept());
}

void add_captures(std::vector<net::Step>& steps, const rules::Prefix& handles, const GateSets& sets)
{
    constexpr std::array<std::uint8_t, 16> v6{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    const std::uint16_t port = htons(rules::gate_port);
    const std::uint32_t lo = rules::lo_address(handles);
    const auto names = packet_bytes(lo);
    const auto v4 = packet_bytes(rules::capture_address(handles));
    steps.push_back(to_names("capture", lo, IPPROTO_UDP).capture(Ip::v4, names, port));
    steps.push_back(to_names("capture", lo, IPPROTO_TCP).capture(Ip::v4, v4, port));
    for (const std::uint8_t protocol : {std::uint8_t{IPPROTO_UDP}, std::uint8_t{IPPROTO_TCP}})
        steps.push_back(to_names("capture", lo, protocol).jump("dead"));
    accept_own(steps, "capture");
    if (sets.has("allow4"))
        steps.push_back(gate_rule("capture").reach(Ip::v4).in("allow4").capture(Ip::v4, v4, port));
    if (sets.has("allow6"))
        steps.push_back(gate_rule("capture").reach(Ip::v6).in("allow6").capture(Ip::v6, v6, port));
    if (sets.has("allow4"))
        steps.push_back(gate_rule("capture").reach(Ip::v4).in("allow4").jump("dead"));
    if (sets.has("allow6"))
        steps.push_back(gate_rule("capture").reach(Ip::v6).in("allow6").jump("dead"));
    Rule answer = gate_rule("answers");
    answer.address(Side::source, Ip::v4).equals(htonl(lo));
    answer.protocol(IPPROTO_UDP).port(Side::source).equals(port);
    steps.push_back(answer.set_source_port(htons(dns_port)));
}

void add_refusals(std::vector<net::Step>& steps)
{
    for (const auto& [chain, code] : {std::pair("dead", NFT_REJECT_ICMPX_PORT_UNREACH),
                                      std::pair("refuse", NFT_REJECT_ICMPX_ADMIN_PROHIBITED)}) {
        if (std::string_view(chain) == "refuse") {
            steps.push_back(gate_rule(chain).count().end());
            for (const std::uint8_t protocol :
                 {std::uint8_t{IPPROTO_TCP}, std::uint8_t{IPPROTO_UDP}})
                steps.push_back(gate_rule(chain).protocol(protocol).jump("remember"));
        }
        steps.push_back(gate_rule(chain).protocol(IPPROTO_TCP).reset());
        steps.push_back(gate_rule(chain).reject(static_cast<std::uint8_t>(code)));
    }
    steps.push_back(gate_rule("remember").reach(Ip::v4).remember("denied4"));
    steps.push_back(gate_rule("remember").reach(Ip::v6).remember("denied6"));
}

void add_output(std::vector<net::Step>& steps, const GateSets& sets)
{
    constexpr std::uint32_t docker_resolver = 0x7f00000b; // 127.0.0.11
    steps.push_back(
        gate_rule("output").meta(NFT_META_OIF).differs(index_of_lo).count().jump("refuse"));
    steps.push_back(gate_rule("output")
                        .address(Side::destination, Ip::v4)
                        .equals(htonl(docker_resolver))
                        .jump("dead"));
    accept_own(steps, "output");
    for (const auto& [ip, set] : {std::pair(Ip::v4, "never4"), std::pair(Ip::v6, "never6")}) {
        if (sets.has(set))
            steps.push_back(
                gate_rule("output").address(Side::destination, ip).in(set).count().jump("refuse"));
    }
    for (const auto& [ip, set] : {std::pair(Ip::v4, "deny4"), std::pair(Ip::v6, "deny6")}) {
        if (sets.has(set))
            steps.push_back(gate_rule("output").reach(ip).in(set).count().jump("refuse"));
    }
    for (const auto& [ip, set] : {std::pair(Ip::v4, "allow4"), std::pair(Ip::v6, "allow6")}) {
        if (sets.has(set))
            steps.push_back(gate_rule("output").reach(ip).in(set).count().accept());
    }
    steps.push_back(gate_rule("output").count().jump("refuse"));
}

} // namespace

// The rules are in the order of their chains, in which the kernel lists them.
std::vector<net::Step> fill_gate_table(const rules::Prefix& handles, const rules::Network& network)
{
    std::vector<net::Step> steps;
    add_gate_chains(steps);
    const GateSets sets = add_gate_sets(steps, handles, network);
    add_captures(steps, handles, sets);
    steps.push_back(gate_rule("input").meta(NFT_META_IIF).equals(index_of_lo).accept());
    add_output(steps, sets);
    steps.push_back(gate_rule("postrouting").meta(NFT_META_OIF).equals(index_of_lo).accept());
    add_refusals(steps);
    return steps;
}

} // namespace anchorhold::nft
