// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/gate_rules.hpp"

#include "schema/rules/always_denied.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace anchorhold::rules {
namespace {

Prefix fixed_range(const char* text)
{
    return *Prefix::parse(text, Code::invalid_policy); // cannot fail
}

// Returns the IPv4 address to which a translator (RFC 6052) or a 6to4 relay (RFC 3056) leads.
std::optional<Prefix> embedded_v4(const Prefix& address)
{
    static const Prefix translated = fixed_range("64:ff9b::/96");
    static const Prefix relayed = fixed_range("2002::/16");
    const std::array<std::uint8_t, 16>& at = address.bytes();
    std::size_t first = 0;
    if (translated.contains(address)) {
        first = 12;
    } else if (relayed.contains(address)) {
        first = 2;
    } else {
        return std::nullopt;
    }
    std::uint32_t number = 0;
    for (std::size_t i = first; i < first + 4; ++i)
        number = number << 8 | at[i];
    return fixed_range(dotted(number).c_str());
}

bool is_at(const AllowRule& rule, std::uint16_t port)
{
    return std::ranges::any_of(rule.ports, [port](const PortRange& ports) {
        return !ports.udp && ports.first <= port && port <= ports.last;
    });
}

bool has_tcp(const AllowRule& rule)
{
    return std::ranges::any_of(rule.ports, [](const PortRange& ports) { return !ports.udp; });
}

bool holds(const std::vector<Prefix>& ranges, const Prefix& address)
{
    return std::ranges::any_of(ranges,
                               [&](const Prefix& range) { return range.contains(address); });
}

} // namespace

Prefix GateRules::default_handles()
{
    return fixed_range("198.19.0.0/16");
}

Prefix GateRules::default_pool()
{
    return Network::default_pool();
}

std::vector<std::string> lines_of(const GateRules& rules)
{
    std::vector<std::string> lines{"names are addresses of " + rules.handles.text()};
    for (const AllowRule& rule : rules.deny)
        lines.push_back("deny " + text_of(rule));
    for (const AllowRule& rule : rules.allow)
        lines.push_back("allow " + text_of(rule));
    return lines;
}

std::uint32_t lo_address(const Prefix& handles)
{
    std::uint32_t base = 0;
    for (std::size_t i = 0; i < 4; ++i)
        base = base << 8 | handles.bytes()[i];
    return base + 1;
}

std::uint32_t capture_address(const Prefix& handles)
{
    return lo_address(handles) + 1;
}

Network gate_network(const GateRules& rules)
{
    std::vector<AllowRule> tcp;
    for (AllowRule rule : drop_denied(rules.allow, rules.deny)) {
        std::erase_if(rule.ports, [](const PortRange& ports) { return ports.udp; });
        if (std::holds_alternative<NamePattern>(rule.to))
            rule = {rules.handles, std::move(rule.ports), {}};
        if (!rule.ports.empty())
            tcp.push_back(std::move(rule));
    }
    Network network;
    network.pool = rules.pool;
    compile(tcp, rules.deny, network);
    return network;
}

GateMatcher::GateMatcher(const GateRules& rules)
    : allow_(drop_denied(rules.allow, rules.deny)),
      deny_(rules.deny),
      never_(always_denied(rules.pool))
{
    const std::vector<Prefix> more = always_denied(rules.handles);
    never_.insert(never_.end(), more.begin(), more.end());
    for (const AllowRule& rule : allow_) {
        const auto* const name = std::get_if<NamePattern>(&rule.to);
        if (!has_tcp(rule))
            continue;
        if (name == nullptr) {
            of_addresses_.push_back(&rule);
            continue;
        }
        std::vector<const AllowRule*>& same = of_names_[name->text()];
        if (same.empty() && name->is_exact())
            names_.push_back(name->text());
        same.push_back(&rule);
    }
}

// Returns the rules whose pattern covers the name, in their order. They are found by the few
// patterns that could: the name, and a wildcard at each of its parents.
std::vector<const AllowRule*> GateMatcher::candidates(const NamePattern& name) const
{
    const std::string text = name.text();
    std::vector<std::string> patterns{text};
    for (std::size_t dot = text.find('.'); dot != std::string::npos;
         dot = text.find('.', dot + 1)) {
        for (const char* const wildcard : {"*", "**"})
            patterns.push_back(wildcard + text.substr(dot));
    }
    std::vector<const AllowRule*> found;
    for (const std::string& pattern : patterns) {
        const auto same = of_names_.find(pattern);
        if (same == of_names_.end())
            continue;
        std::ranges::copy_if(same->second, std::back_inserter(found), [&](const AllowRule* rule) {
            return std::get<NamePattern>(rule->to).covers(name);
        });
    }
    std::ranges::sort(found);
    return found;
}

bool GateMatcher::lists(const NamePattern& name) const
{
    return std::ranges::any_of(candidates(name), [&](const AllowRule* rule) {
        const std::vector<AllowRule> left = drop_denied({{name, rule->ports, {}}}, deny_);
        return !left.empty() && has_tcp(left.front());
    });
}

const AllowRule* GateMatcher::rule_for(const NamePattern& name, std::uint16_t port) const
{
    const bool is_denied = std::ranges::any_of(
        deny_, [&](const AllowRule& no) { return is_at(no, port) && covers(no.to, name); });
    if (is_denied)
        return nullptr;
    for (const AllowRule* const rule : candidates(name)) {
        if (is_at(*rule, port))
            return rule;
    }
    return nullptr;
}

const AllowRule* GateMatcher::rule_for(const Prefix& address, std::uint16_t port) const
{
    for (const AllowRule* const rule : of_addresses_) {
        if (is_at(*rule, port) && judge(*rule, address, port).ruling == Ruling::allowed)
            return rule;
    }
    return nullptr;
}

bool GateMatcher::is_denied(const Prefix& address, std::uint16_t port, Judgement& judgement) const
{
    for (const AllowRule& rule : deny_) {
        const auto* const range = std::get_if<Prefix>(&rule.to);
        if (range == nullptr || !is_at(rule, port) || !range->contains(address))
            continue;
        judgement = {Ruling::denied, text_of(rule)};
        return true;
    }
    return false;
}

Judgement GateMatcher::judge(const AllowRule& rule, const Prefix& address, std::uint16_t port) const
{
    for (const Prefix& range : never_) {
        if (range.contains(address))
            return {Ruling::always_denied, range.text()};
    }
    Judgement judgement;
    const auto inner = embedded_v4(address);
    if (is_denied(address, port, judgement) || (inner && is_denied(*inner, port, judgement)))
        return judgement;
    const auto* const range = std::get_if<Prefix>(&rule.to);
    const bool leads = range != nullptr ? range->contains(address) && !holds(rule.except, address)
                                        : !is_private(address) || holds(rule.within, address);
    return leads ? Judgement{Ruling::allowed, text_of(rule)} : Judgement{};
}

} // namespace anchorhold::rules
