// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/gate_rules.hpp"

#include "schema/endpoint.hpp"
#include "schema/rules/always_denied.hpp"
#include "schema/rules/gate_words.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

namespace anchorhold::rules {
namespace {

Prefix fixed_range(const char* text)
{
    return *Prefix::parse(text, Code::invalid_policy); // cannot fail
}

Status read_range_member(json::View root, std::string_view key, Prefix& range)
{
    const auto member = root.find(key);
    if (!member)
        return {};
    AH_TRY(const std::string text, member->string());
    const auto prefix = Prefix::parse(text, Code::invalid_policy);
    if (!prefix)
        return std::unexpected(member->wrong(prefix.error().what));
    range = *prefix;
    return {};
}

Status read_list(json::View root, std::string_view key, ListKind kind, std::vector<AllowRule>& list)
{
    if (const auto member = root.find(key)) {
        AH_TRY(list, read_rules(*member, kind));
    }
    return {};
}

Result<GateEndpoint> read_gate_endpoint(json::View value)
{
    AH_CHECK(value.object());
    AH_CHECK(value.only({"name", "to", "port", "within"}));
    const auto name = value.find("name");
    const auto to = value.find("to");
    const auto port = value.find("port");
    if (!name || !to || !port)
        return std::unexpected(value.wrong("has not \"name\", \"to\" and \"port\""));
    AH_TRY(std::string label, name->string());
    AH_TRY(const std::string host, to->string());
    AH_TRY(const std::int64_t number, port->integer());
    const auto at = Port::from(number, Code::invalid_policy);
    if (!at)
        return std::unexpected(port->wrong(at.error().what));
    const bool is_host = host == "host";
    auto destination = parse_destination(is_host ? "127.0.0.1" : host, Code::invalid_policy);
    if (!destination)
        return std::unexpected(to->wrong(destination.error().what));
    GateEndpoint endpoint{std::move(label), is_host, {*std::move(destination), {}, {}}};
    endpoint.rule.ports = {{at->number(), at->number(), false}};
    const auto* const range = std::get_if<Prefix>(&endpoint.rule.to);
    const auto* const pattern = std::get_if<NamePattern>(&endpoint.rule.to);
    if ((range != nullptr && !range->is_single()) || (pattern != nullptr && !pattern->is_exact()))
        return std::unexpected(to->wrong("is not one name or address"));
    AH_CHECK(read_gate_words(value, endpoint.rule));
    return endpoint;
}

Status read_endpoints(json::View root, std::vector<GateEndpoint>& endpoints)
{
    const auto member = root.find("endpoints");
    if (!member)
        return {};
    AH_TRY(const std::vector<json::View> items, member->array());
    if (items.size() > most_endpoints)
        return std::unexpected(member->wrong("has more than 16 entries"));
    for (const json::View item : items) {
        AH_TRY(GateEndpoint endpoint, read_gate_endpoint(item));
        endpoints.push_back(std::move(endpoint));
    }
    return {};
}

// The handles must be nobody else's: not our links', and not what a rule names, whose addresses
// would then lead to names.
Status check_handles(const GateRules& rules)
{
    const std::string subject = "handles " + rules.handles.text();
    if (!rules.handles.is_v4() || rules.handles.length() > longest_handles)
        return fail(Code::invalid_policy, subject + ": expected an IPv4 range of at least a /16");
    if (rules.handles.contains(rules.pool) || rules.pool.contains(rules.handles))
        return fail(Code::invalid_policy, subject + " overlap the pool " + rules.pool.text());
    for (const AllowRule& rule : rules.allow) {
        const auto* const range = std::get_if<Prefix>(&rule.to);
        if (range != nullptr && rules.handles.contains(*range))
            return fail(Code::invalid_policy, subject + " hold a rule's " + range->text());
    }
    return {};
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
    return fixed_range("198.18.0.0/16");
}

Result<GateRules> read_gate_rules(std::string text)
{
    AH_TRY(const json::Document document,
           json::Document::parse(std::move(text), Code::invalid_policy));
    const json::View root = document.root();
    AH_CHECK(root.object());
    AH_CHECK(root.only({"handles", "pool", "epoch", "allow", "deny", "endpoints"}));
    GateRules rules;
    AH_CHECK(read_range_member(root, "handles", rules.handles));
    AH_CHECK(read_range_member(root, "pool", rules.pool));
    if (const auto epoch = root.find("epoch")) {
        AH_TRY(const std::int64_t number, epoch->integer());
        if (number < 0 || number >= std::int64_t{most_epochs})
            return std::unexpected(epoch->expected("0 to 3"));
        rules.epoch = static_cast<std::uint32_t>(number);
    }
    AH_CHECK(read_list(root, "allow", ListKind::gate, rules.allow));
    AH_CHECK(read_list(root, "deny", ListKind::deny, rules.deny));
    AH_CHECK(read_endpoints(root, rules.endpoints));
    AH_CHECK(check_handles(rules));
    return rules;
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
