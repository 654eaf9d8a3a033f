// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/allow.hpp"

#include "schema/endpoint.hpp"
#include "schema/json/comma_list.hpp"
#include "schema/rules/gate_words.hpp"

#include <algorithm>
#include <optional>

namespace anchorhold::rules {
namespace {

constexpr std::uint16_t every_port = 65535;

std::vector<PortRange> default_ports(ListKind kind)
{
    if (kind != ListKind::deny)
        return {PortRange{}};
    return {{1, every_port, false}, {1, every_port, true}};
}

std::vector<PortRange> one_range(std::uint16_t first, std::uint16_t last, ListKind kind)
{
    if (kind != ListKind::deny)
        return {{first, last, false}};
    return {{first, last, false}, {first, last, true}};
}

// A short rule cut into destination and port: "10.1.0.0/16:5432" at its only colon,
// "[2001:db8::1]:443" behind the bracket. More colons without brackets are an IPv6 address alone.
struct ShortRule {
    std::string_view to;
    std::optional<std::string_view> port;
};
ShortRule cut(std::string_view text)
{
    if (text.contains("://")) // a URL, which is refused as a whole
        return {text, std::nullopt};
    const std::size_t colon = text.find(':');
    if (text.starts_with('[')) {
        const std::size_t bracket = text.find(']');
        if (bracket != std::string_view::npos && bracket + 1 == text.size())
            return {text.substr(1, bracket - 1), std::nullopt};
        if (bracket != std::string_view::npos && text[bracket + 1] == ':')
            return {text.substr(1, bracket - 1), text.substr(bracket + 2)};
        return {text, std::nullopt};
    }
    if (colon == std::string_view::npos || text.find(':', colon + 1) != std::string_view::npos)
        return {text, std::nullopt};
    return {text.substr(0, colon), text.substr(colon + 1)};
}

Result<AllowRule> parse_rule(std::string_view text, ListKind kind, Code code)
{
    const ShortRule parts = cut(text);
    AH_TRY(Destination to, parse_destination(parts.to, code));
    if (!parts.port)
        return AllowRule{std::move(to), default_ports(kind), {}};
    AH_TRY(const Port port, Port::parse(*parts.port, code), in_quotes(text));
    return AllowRule{std::move(to), one_range(port.number(), port.number(), kind), {}};
}

Result<std::uint16_t> read_port(json::View value)
{
    AH_TRY(const std::int64_t number, value.integer());
    const auto port = Port::from(number, Code::invalid_request);
    if (!port)
        return std::unexpected(value.wrong(port.error().what));
    return port->number();
}

// Reads a NetworkPolicyPort as Kubernetes has it, but refuses named ports and SCTP.
Result<std::vector<PortRange>> read_range(json::View value, ListKind kind)
{
    AH_CHECK(value.object());
    AH_CHECK(value.only({"port", "endPort", "protocol"}));
    const auto port = value.find("port");
    if (!port)
        return std::unexpected(value.wrong("has no port"));
    AH_TRY(const std::uint16_t first, read_port(*port));
    std::uint16_t last = first;
    if (const auto end = value.find("endPort")) {
        AH_TRY(last, read_port(*end));
        if (last < first)
            return std::unexpected(end->wrong("is below port"));
    }
    const auto protocol = value.find("protocol");
    if (!protocol)
        return one_range(first, last, kind);
    AH_TRY(const std::string name, protocol->string());
    if (name != "TCP" && name != "UDP")
        return std::unexpected(protocol->expected("TCP or UDP"));
    return std::vector<PortRange>{{first, last, name == "UDP"}};
}

Result<std::vector<json::View>> bounded_array(json::View value, std::size_t most)
{
    AH_TRY(std::vector<json::View> items, value.array());
    if (items.size() > most)
        return std::unexpected(value.wrong("has more than " + std::to_string(most) + " entries"));
    return items;
}

// A rule of the gate's list may be what two rules have in common, and have the parts of both.
std::size_t most_of_a_rule(ListKind kind)
{
    return kind == ListKind::gate ? most_parts : most_rule_parts;
}

Result<std::vector<PortRange>> read_ports(json::View value, ListKind kind)
{
    AH_TRY(const std::vector<json::View> items, bounded_array(value, most_of_a_rule(kind)));
    // An empty list is refused: to Kubernetes it means every port, to a reader of this file it may
    // mean none.
    if (items.empty())
        return std::unexpected(value.expected("at least one port"));
    std::vector<PortRange> ports;
    for (const json::View item : items) {
        AH_TRY(const std::vector<PortRange> ranges, read_range(item, kind));
        ports.insert(ports.end(), ranges.begin(), ranges.end());
    }
    return ports;
}

Result<std::vector<Prefix>> read_except(json::View value, const Destination& to, ListKind kind)
{
    AH_TRY(const std::vector<json::View> items, bounded_array(value, most_of_a_rule(kind)));
    std::vector<Prefix> except;
    for (const json::View item : items) {
        AH_TRY(const std::string text, item.string());
        const auto prefix = Prefix::parse(text, Code::invalid_request);
        if (!prefix)
            return std::unexpected(item.wrong(prefix.error().what));
        if (!covers(to, *prefix) || to == Destination(*prefix))
            return std::unexpected(item.wrong("does not lie inside " + text_of(to)));
        except.push_back(*prefix);
    }
    return except;
}

Result<AllowRule> read_rule(json::View value, ListKind kind)
{
    if (value.kind() == json::Kind::string) {
        AH_TRY(const std::string text, value.string());
        auto rule = parse_rule(text, kind, Code::invalid_request);
        if (!rule)
            return std::unexpected(value.wrong(rule.error().what));
        return rule;
    }
    AH_CHECK(value.object());
    AH_CHECK(check_members(value, kind));
    const auto to = value.find("to");
    if (!to)
        return std::unexpected(value.wrong("has no \"to\""));
    AH_TRY(const std::string text, to->string());
    auto destination = parse_destination(text, Code::invalid_request);
    if (!destination)
        return std::unexpected(to->wrong(destination.error().what));
    AllowRule rule{*std::move(destination), default_ports(kind), {}};
    if (const auto ports = value.find("ports")) {
        AH_TRY(rule.ports, read_ports(*ports, kind));
    }
    if (const auto except = value.find("except")) {
        // A hole is refused here: it would let packets through, though deny always wins.
        if (kind == ListKind::deny)
            return std::unexpected(except->wrong("has no place in a deny list"));
        AH_TRY(rule.except, read_except(*except, rule.to, kind));
    }
    AH_CHECK(read_gate_words(value, rule));
    return rule;
}

std::vector<PortRange> common_ports(const std::vector<PortRange>& one,
                                    const std::vector<PortRange>& other)
{
    std::vector<PortRange> common;
    for (const PortRange& a : one) {
        for (const PortRange& b : other) {
            const PortRange both{std::max(a.first, b.first), std::min(a.last, b.last), a.udp};
            if (a.udp == b.udp && both.first <= both.last &&
                std::ranges::find(common, both) == common.end())
                common.push_back(both);
        }
    }
    return common;
}

// Returns what both rules have in common. Destinations are nested or disjoint, so it lies at the
// smaller one.
std::optional<AllowRule> common_rule(const AllowRule& one, const AllowRule& other, WordsOf words)
{
    const bool narrows = covers(one.to, other.to);
    if (!narrows && !covers(other.to, one.to))
        return std::nullopt;
    AllowRule both{narrows ? other.to : one.to, common_ports(one.ports, other.ports), {}};
    if (both.ports.empty())
        return std::nullopt;
    join_words(one, other, words, both);
    for (const std::vector<Prefix>* list : {&one.except, &other.except}) {
        for (const Prefix& hole : *list) {
            if (covers(hole, both.to))
                return std::nullopt;
            if (covers(both.to, hole) && std::ranges::find(both.except, hole) == both.except.end())
                both.except.push_back(hole);
        }
    }
    return both;
}

// Returns whether nothing of the rule's destination is left at `ports`, a range which no boundary
// of `deny` cuts.
bool is_denied(const AllowRule& rule, const PortRange& ports, const std::vector<AllowRule>& deny)
{
    std::vector<Prefix> gone = rule.except;
    for (const AllowRule& no : deny) {
        const bool applies = std::ranges::any_of(no.ports, [&](const PortRange& range) {
            return range.udp == ports.udp && range.first <= ports.first && ports.last <= range.last;
        });
        if (applies && covers(no.to, rule.to))
            return true;
        if (const auto* prefix = std::get_if<Prefix>(&no.to); applies && prefix != nullptr)
            gone.push_back(*prefix);
    }
    const auto* range = std::get_if<Prefix>(&rule.to);
    return range != nullptr && is_covered(*range, gone);
}

// Returns, sorted, where `ports` begins, where a deny begins or has ended inside it, and the first
// port after it.
std::vector<std::uint32_t> boundaries(const PortRange& ports, const std::vector<AllowRule>& deny)
{
    std::vector<std::uint32_t> cuts{ports.first, std::uint32_t{ports.last} + 1};
    for (const AllowRule& no : deny) {
        for (const PortRange& range : no.ports) {
            for (const std::uint32_t cut : {std::uint32_t{range.first}, range.last + 1U}) {
                if (range.udp == ports.udp && cut > ports.first && cut <= ports.last)
                    cuts.push_back(cut);
            }
        }
    }
    std::ranges::sort(cuts);
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    return cuts;
}

std::vector<PortRange> ports_left(const AllowRule& rule, const std::vector<AllowRule>& deny)
{
    std::vector<PortRange> left;
    for (const PortRange& ports : rule.ports) {
        const std::vector<std::uint32_t> cuts = boundaries(ports, deny);
        bool extends = false;
        for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
            const PortRange piece{static_cast<std::uint16_t>(cuts[i]),
                                  static_cast<std::uint16_t>(cuts[i + 1] - 1), ports.udp};
            const bool denied = is_denied(rule, piece, deny);
            if (!denied && extends) {
                left.back().last = piece.last;
            } else if (!denied) {
                left.push_back(piece);
            }
            extends = !denied;
        }
    }
    return left;
}

// Returns which bound of a list is exceeded, like "more than 256 names"; empty: none.
std::string excess_of(const std::vector<AllowRule>& rules, ListKind kind)
{
    std::size_t names = 0;
    std::size_t parts = 0;
    for (const AllowRule& rule : rules) {
        names += std::holds_alternative<NamePattern>(rule.to) ? 1 : 0;
        parts += rule.ports.size() + rule.except.size();
    }
    if (names > most_names && kind != ListKind::gate)
        return "more than " + std::to_string(most_names) + " names";
    if (parts > most_parts)
        return "more than " + std::to_string(most_parts) + " ports and exceptions";
    return {};
}

// Returns the entries of `deny` that overlap `to`. Destinations are nested or disjoint, so one of
// the two covers the other.
std::vector<AllowRule> about(const Destination& to, const std::vector<AllowRule>& deny)
{
    std::vector<AllowRule> some;
    std::ranges::copy_if(deny, std::back_inserter(some), [&to](const AllowRule& no) {
        return covers(no.to, to) || covers(to, no.to);
    });
    return some;
}

} // namespace

std::string text_of(const PortRange& ports)
{
    return (ports.udp ? "udp " : "tcp ") + std::to_string(ports.first) +
           (ports.first == ports.last ? "" : "-" + std::to_string(ports.last));
}

std::string text_of(const AllowRule& rule)
{
    std::string text = text_of(rule.to);
    for (const PortRange& ports : rule.ports)
        text += " " + text_of(ports);
    for (const Prefix& hole : rule.except)
        text += " except " + hole.text();
    return text + words_text(rule);
}

Result<std::vector<AllowRule>> read_rules(json::View array, ListKind kind)
{
    AH_TRY(const std::vector<json::View> items, bounded_array(array, most_rules));
    std::vector<AllowRule> rules;
    for (const json::View item : items) {
        AH_TRY(AllowRule rule, read_rule(item, kind));
        rules.push_back(std::move(rule));
    }
    if (const std::string excess = excess_of(rules, kind); !excess.empty())
        return std::unexpected(array.wrong("has " + excess));
    return rules;
}

Result<std::vector<AllowRule>> parse_allow(std::string_view text)
{
    if (comma_list::is_json(text)) {
        AH_TRY(const json::Document document,
               json::Document::parse(std::string(text), Code::invalid_request));
        return read_rules(document.root(), ListKind::allow);
    }
    AH_TRY(const std::vector<std::string_view> entries, comma_list::entries(text));
    if (entries.size() > most_rules)
        return fail(Code::invalid_request, "more than " + std::to_string(most_rules) + " entries");
    std::vector<AllowRule> rules;
    for (const std::string_view entry : entries) {
        AH_TRY(AllowRule rule, parse_rule(entry, ListKind::allow, Code::invalid_request));
        rules.push_back(std::move(rule));
    }
    if (const std::string excess = excess_of(rules, ListKind::allow); !excess.empty())
        return fail(Code::invalid_request, excess);
    return rules;
}

std::vector<AllowRule> intersect(const std::vector<AllowRule>& one,
                                 const std::vector<AllowRule>& other, WordsOf words)
{
    std::vector<AllowRule> both;
    for (const AllowRule& a : one) {
        for (const AllowRule& b : other) {
            if (auto rule = common_rule(a, b, words);
                rule && std::ranges::find(both, *rule) == both.end())
                both.push_back(*std::move(rule));
        }
    }
    return both;
}

std::vector<AllowRule> drop_denied(const std::vector<AllowRule>& rules,
                                   const std::vector<AllowRule>& deny)
{
    std::vector<AllowRule> left;
    for (AllowRule rule : rules) {
        rule.ports = ports_left(rule, about(rule.to, deny));
        if (!rule.ports.empty())
            left.push_back(std::move(rule));
    }
    return left;
}

} // namespace anchorhold::rules
