// SPDX-License-Identifier: Apache-2.0
#include "hooks/nft/host_shared.hpp"

#include "hooks/nft/elements.hpp"
#include "hooks/nft/rule.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <netinet/icmp6.h>
#include <netinet/in.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_tables.h>

namespace anchorhold::nft {
namespace {

using namespace nft;

using Steps = std::vector<net::Step>;

constexpr Table shared = {NFPROTO_INET};
constexpr std::string_view our_links = "ah";        // the names that link_name() makes begin so
constexpr std::string_view made_in = "anchorhold "; // a comment: a pid namespace follows
constexpr std::int32_t before_dnat = -150;
constexpr std::int32_t source_nat = 100;

const Set forwards = {"forwards", Keys::link, Kind::single};
const Set switched = {"switched", Keys::link, Kind::single};
const Set guests4 = {"guests4", Keys::address4, Kind::single};
const Set guests6 = {"guests6", Keys::address6, Kind::single};

Rule shared_rule(const char* chain)
{
    return {shared, chain};
}

// Makes a shared chain if it is missing, and removes its rules, which the caller makes again.
void hold_chain(Steps& steps, const char* name, const Hook& hook)
{
    steps.push_back(add_chain(shared, name, hook, Making::if_absent));
    steps.push_back(remove_rules(shared, name));
}

Steps forward_chain()
{
    Steps steps;
    hold_chain(steps, "forward", {"filter", NF_INET_FORWARD, 0, NF_ACCEPT, {}});
    steps.push_back(shared_rule("forward").meta(NFT_META_IIFNAME).in(forwards.name).accept());
    steps.push_back(shared_rule("forward").meta(NFT_META_IIFNAME).begins(our_links).count().drop());
    return steps;
}

Steps toward_chain()
{
    Steps steps;
    steps.push_back(add_set(shared, switched, Making::if_absent));
    hold_chain(steps, "toward", {"filter", NF_INET_FORWARD, 1, NF_ACCEPT, {}});
    steps.push_back(
        shared_rule("toward")
            .has_state(NF_CT_STATE_BIT(IP_CT_ESTABLISHED) | NF_CT_STATE_BIT(IP_CT_RELATED))
            .accept());
    steps.push_back(shared_rule("toward").meta(NFT_META_IIFNAME).in(switched.name).count().drop());
    steps.push_back(shared_rule("toward").meta(NFT_META_OIFNAME).begins_not(our_links).accept());
    steps.push_back(shared_rule("toward").count().drop());
    return steps;
}

Steps masquerade_chain()
{
    Steps steps;
    hold_chain(steps, "postrouting", {"nat", NF_INET_POST_ROUTING, source_nat, NF_ACCEPT, {}});
    steps.push_back(shared_rule("postrouting")
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
        shared_rule("prerouting").address(Side::source, Ip::v4).in(guests4.name).jump("guest"));
    steps.push_back(
        shared_rule("prerouting").address(Side::source, Ip::v6).in(guests6.name).jump("guest"));
    const std::uint8_t discovery[] = {ND_ROUTER_SOLICIT, ND_NEIGHBOR_SOLICIT, ND_NEIGHBOR_ADVERT};
    for (const std::uint8_t type : discovery) {
        steps.push_back(
            shared_rule("guest").protocol(IPPROTO_ICMPV6).icmp6_type().equals(type).accept());
    }
    steps.push_back(shared_rule("guest").has_state(NF_CT_STATE_BIT(IP_CT_ESTABLISHED)).accept());
    steps.push_back(shared_rule("guest").is_delivered_here().protocol(IPPROTO_TCP).count().reset());
    steps.push_back(
        shared_rule("guest").is_delivered_here().count().reject(NFT_REJECT_ICMPX_ADMIN_PROHIBITED));
    return steps;
}

// An element that belongs to one run. The elements of other runs are many and are never listed
// here.
struct OwnElement {
    std::string set;
    Element element;
};
std::vector<OwnElement> elements_of(const HostRun& run)
{
    if (is_forwarded(run))
        return {{forwards.name, {bytes_of_link(rules::link_name(run.key)), {}, false}}};
    std::vector<OwnElement> own;
    if (run.technique != Technique::in_place)
        return own;
    const Bytes comment =
        run.owner.empty() ? Bytes() : comment_of(std::string(made_in) + run.owner);
    for (const Ip ip : {Ip::v4, Ip::v6}) {
        for (const Bytes& address : addresses_of(run.network.guest, ip))
            own.push_back(
                {ip == Ip::v4 ? guests4.name : guests6.name, {address, {}, false, comment}});
    }
    return own;
}

// Returns the key in an element's line, such as "guests4 0a630002 anchorhold 4:4026531836".
Bytes key_in(const std::string& line)
{
    Bytes key;
    for (std::size_t at = line.find(' ') + 1; at + 2 <= line.size() && line[at] != ' '; at += 2) {
        std::uint8_t byte = 0;
        std::from_chars(line.data() + at, line.data() + at + 2, byte, 16);
        key.push_back(byte);
    }
    return key;
}

std::string link_in(const std::string& line)
{
    const Bytes key = key_in(line);
    return {key.begin(), std::ranges::find(key, 0)};
}

std::vector<Set> sets_for(const HostRun& run)
{
    return run.technique == Technique::in_place ? std::vector{guests4, guests6}
                                                : std::vector{forwards};
}

// Returns the chains in the order in which they can be removed: a chain that jumps comes before the
// one to which it jumps.
std::vector<const char*> tracking_chains_for(const HostRun& run)
{
    if (run.technique == Technique::in_place)
        return {"prerouting", "guest"};
    if (is_forwarded(run))
        return {"toward", "postrouting"};
    return {};
}

std::vector<const char*> chains_for(const HostRun& run)
{
    std::vector<const char*> chains = tracking_chains_for(run);
    if (run.technique != Technique::in_place)
        chains.insert(chains.begin(), "forward");
    return chains;
}

Result<bool> shared_stands(net::Netlink& nftables, const HostRun& run)
{
    AH_TRY(Ruleset planned, describe(shared, shared_part(run)));
    AH_TRY(const Ruleset seen, ask(nftables, shared, list_shared(run)));
    sort_sets_first(planned.ours);
    return seen.ours == planned.ours;
}

} // namespace

const Table& shared_table()
{
    return shared;
}

bool is_forwarded(const HostRun& run)
{
    return run.posture == Posture::filtered && run.technique == Technique::veth;
}

std::vector<net::Step> shared_part(const HostRun& run)
{
    Steps steps;
    for (const Set& set : sets_for(run))
        steps.push_back(add_set(shared, set, Making::if_absent));
    if (run.technique == Technique::in_place) {
        append(steps, guest_chains());
    } else {
        append(steps, forward_chain());
        if (is_forwarded(run))
            append(steps, tracking_part());
    }
    append(steps, add_own_elements(run));
    return steps;
}

std::vector<net::Step> tracking_part()
{
    Steps steps = toward_chain();
    append(steps, masquerade_chain());
    return steps;
}

std::vector<net::Step> add_own_elements(const HostRun& run)
{
    Steps steps;
    for (const OwnElement& own : elements_of(run))
        append(steps, add_elements(shared, own.set, {&own.element, 1}, Making::if_absent));
    return steps;
}

std::vector<net::Step> remove_own_elements(const HostRun& run)
{
    Steps steps;
    for (const Set& set : sets_for(run))
        steps.push_back(add_set(shared, set, Making::if_absent));
    for (const OwnElement& own : elements_of(run)) {
        append(steps, add_elements(shared, own.set, {&own.element, 1}, Making::if_absent));
        steps.push_back(remove_element(shared, own.set, own.element));
    }
    return steps;
}

std::vector<net::Step> remove_tracking(const HostRun& run)
{
    Steps steps;
    for (const char* const chain : tracking_chains_for(run)) {
        steps.push_back(add_chain(shared, chain, Making::if_absent));
        steps.push_back(remove_chain(shared, chain));
    }
    if (is_forwarded(run)) {
        steps.push_back(add_set(shared, switched, Making::if_absent));
        steps.push_back(remove_set(shared, switched));
    }
    return steps;
}

std::vector<net::Step> list_shared(const HostRun& run)
{
    Steps steps;
    for (const Set& set : sets_for(run))
        steps.push_back(get_set(shared, set.name));
    if (is_forwarded(run))
        steps.push_back(get_set(shared, switched.name));
    for (const char* const chain : chains_for(run))
        steps.push_back(get_chain(shared, chain));
    for (const char* const chain : chains_for(run))
        steps.push_back(list_rules(shared, chain));
    for (const OwnElement& own : elements_of(run))
        steps.push_back(get_element(shared, own.set, own.element));
    return steps;
}

// Sorts as list_shared() asks: sets, chains, rules.
void sort_sets_first(std::vector<std::string>& lines)
{
    const auto rank = [](const std::string& line) {
        return line.starts_with("set ") ? 0 : line.starts_with("rule ") ? 2 : 1;
    };
    std::vector<std::string> sorted;
    for (const int wanted : {0, 1, 2}) {
        for (const std::string& line : lines) {
            if (rank(line) == wanted)
                sorted.push_back(line);
        }
    }
    lines = std::move(sorted);
}

std::optional<RunKey> key_of_link(std::string_view name)
{
    if (!name.starts_with(our_links))
        return std::nullopt;
    auto key = RunKey::parse(name.substr(our_links.size()));
    return key ? std::optional(*std::move(key)) : std::nullopt;
}

Result<SharedTable> ask_shared(net::Netlink& nftables, const HostRun& run)
{
    AH_TRY(const bool all, shared_stands(nftables, run));
    if (all)
        return SharedTable::stands;
    HostRun less = run;
    less.posture = Posture::sealed;
    AH_TRY(const bool most,
           is_forwarded(run) ? shared_stands(nftables, less) : Result<bool>(false));
    return most ? SharedTable::untracked : SharedTable::missing;
}

Result<RunRules> ask_run_elements(net::Netlink& nftables)
{
    const Steps requests = {list_elements(shared, forwards.name),
                            list_elements(shared, guests4.name),
                            list_elements(shared, guests6.name)};
    AH_TRY(const Ruleset seen, ask(nftables, shared, requests));
    RunRules rules;
    for (const std::string& line : seen.elements) {
        if (line.starts_with(forwards.name + " ")) {
            rules.links.push_back(link_in(line));
        } else {
            const Bytes key = key_in(line);
            std::array<char, INET6_ADDRSTRLEN> text{};
            ::inet_ntop(key.size() == 4 ? AF_INET : AF_INET6, key.data(), text.data(), text.size());
            AH_TRY(const rules::Prefix guest,
                   rules::Prefix::parse(text.data(), Code::network_setup_failed));
            const std::size_t owner = line.find(" " + std::string(made_in));
            rules.guests.push_back(
                {guest, owner == std::string::npos ? "" : line.substr(owner + 1 + made_in.size())});
        }
    }
    std::erase_if(rules.links, [](const std::string& name) { return !key_of_link(name); });
    return rules;
}

Result<std::vector<std::string>> ask_switched(net::Netlink& nftables)
{
    const net::Step request = list_elements(shared, switched.name);
    AH_TRY(const Ruleset seen, ask(nftables, shared, {&request, 1}));
    std::vector<std::string> links;
    for (const std::string& line : seen.elements)
        links.push_back(link_in(line));
    return links;
}

std::vector<net::Step> set_switched(const std::vector<std::string>& out,
                                    const std::vector<std::string>& in)
{
    Steps steps = {begin()};
    for (const std::string& link : out)
        steps.push_back(remove_element(shared, switched.name, {bytes_of_link(link), {}, false}));
    for (const std::string& link : in) {
        const Element element = {bytes_of_link(link), {}, false};
        append(steps, add_elements(shared, switched.name, {&element, 1}, Making::if_absent));
    }
    steps.push_back(commit());
    return steps;
}

} // namespace anchorhold::nft
