// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/network.hpp"

#include "schema/rules/always_denied.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

namespace anchorhold::rules {
namespace {

constexpr unsigned subnet_length = 30;

bool overlap(const Prefix& one, const Prefix& other)
{
    return one.contains(other) || other.contains(one);
}

void add(std::vector<Reach>& reaches, const Prefix& to, const std::vector<PortRange>& ports)
{
    for (const PortRange& range : ports)
        reaches.push_back({to, range});
}

// Drops every reach that equals an earlier one.
void drop_repeated(std::vector<Reach>& reaches)
{
    const auto all_of = [](const Reach& reach) {
        return std::tuple(reach.to.is_v4(), reach.to.bytes(), reach.to.length(), reach.ports.udp,
                          reach.ports.first, reach.ports.last);
    };
    std::set<decltype(all_of(reaches.front()))> seen;
    std::erase_if(reaches, [&](const Reach& reach) { return !seen.insert(all_of(reach)).second; });
}

// Returns the addresses of the pinned names that `pattern` covers.
std::vector<Prefix> addresses_of(const NamePattern& pattern, const Network& network)
{
    const std::string text = pattern.text();
    std::vector<Prefix> addresses;
    for (const PinnedName& pinned : network.names) {
        if (pinned.name != text && pattern.is_exact())
            continue;
        const auto name = NamePattern::parse(pinned.name, Code::invalid_request);
        if (!name || !pattern.covers(*name))
            continue;
        for (const std::string& address : pinned.addresses) {
            if (const auto parsed = Prefix::parse(address, Code::invalid_request))
                addresses.push_back(*parsed);
        }
    }
    return addresses;
}

// Allows the addresses of a name, but no private and no always denied ones. The owner of a name
// decides what it resolves to, and must not send packets where only the host's owner may.
void allow_name(const AllowRule& rule, const NamePattern& name, Network& network)
{
    if (!name.is_exact())
        return;
    const std::vector<Prefix> never = always_denied(network.pool);
    for (const Prefix& address : addresses_of(name, network)) {
        const bool denied = std::ranges::any_of(
            never, [&](const Prefix& range) { return overlap(range, address); });
        if (!denied && !is_private(address))
            add(network.allow, address, rule.ports);
    }
}

std::optional<std::string> overlapping(const std::vector<Prefix>& ranges, const Prefix& address)
{
    for (const Prefix& range : ranges) {
        if (overlap(range, address))
            return range.text();
    }
    return std::nullopt;
}

bool is_at(const Reach& reach, std::uint16_t port, bool udp)
{
    return reach.ports.udp == udp && reach.ports.first <= port && port <= reach.ports.last;
}

} // namespace

std::string dotted(std::uint32_t address)
{
    std::string text;
    for (const unsigned shift : {24U, 16U, 8U, 0U})
        text += (text.empty() ? "" : ".") + std::to_string((address >> shift) & 0xffU);
    return text;
}

std::string Subnet::text() const
{
    return dotted(base) + "/" + std::to_string(subnet_length);
}

std::string Subnet::gateway_text() const
{
    return dotted(gateway());
}

std::string Subnet::inside_text() const
{
    return dotted(inside());
}

Result<Subnet> Subnet::parse(std::string_view text, Code code)
{
    AH_TRY(const Prefix prefix, Prefix::parse(text, code));
    if (!prefix.is_v4() || prefix.length() != subnet_length)
        return fail(code, in_quotes(text) + " is not a /30 of IPv4");
    Subnet subnet;
    for (std::size_t i = 0; i < 4; ++i)
        subnet.base = (subnet.base << 8) | prefix.bytes()[i];
    return subnet;
}

std::string Reach::text() const
{
    return to.text() + " " + text_of(ports);
}

Prefix Network::default_pool()
{
    return *Prefix::parse("198.18.0.0/16", Code::invalid_policy); // half of what RFC 2544 has
}

std::string link_name(std::string_view key)
{
    return "ah" + std::string(key);
}

void compile(const std::vector<AllowRule>& allow, const std::vector<AllowRule>& deny,
             Network& network)
{
    for (const AllowRule& rule : allow) {
        if (const auto* name = std::get_if<NamePattern>(&rule.to)) {
            allow_name(rule, *name, network);
            continue;
        }
        add(network.allow, std::get<Prefix>(rule.to), rule.ports);
        for (const Prefix& hole : rule.except)
            add(network.deny, hole, rule.ports);
    }
    for (const AllowRule& rule : deny) {
        if (const auto* range = std::get_if<Prefix>(&rule.to)) {
            add(network.deny, *range, rule.ports);
        } else {
            for (const Prefix& address : addresses_of(std::get<NamePattern>(rule.to), network))
                add(network.deny, address, rule.ports);
        }
    }
    drop_repeated(network.allow);
    drop_repeated(network.deny);
}

// Judges a range as well: it is denied if one of its addresses is, and allowed if all of them are.
Judgement judge(const Network& network, const Prefix& address, std::uint16_t port, bool udp)
{
    for (const auto& ranges : {always_denied(network.pool), network.node, network.delivered}) {
        if (const auto rule = overlapping(ranges, address))
            return {Ruling::always_denied, *rule};
    }
    for (const Reach& reach : network.deny) {
        if (is_at(reach, port, udp) && overlap(reach.to, address))
            return {Ruling::denied, reach.text()};
    }
    for (const Reach& reach : network.allow) {
        if (is_at(reach, port, udp) && reach.to.contains(address))
            return {Ruling::allowed, reach.text()};
    }
    return {};
}

} // namespace anchorhold::rules
