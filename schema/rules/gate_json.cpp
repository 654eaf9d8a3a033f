// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/gate_json.hpp"

#include "schema/endpoint.hpp"
#include "schema/rules/gate_words.hpp"

#include <algorithm>

namespace anchorhold::rules {
namespace {

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

void write_ports(json::Writer& out, const std::vector<PortRange>& ports)
{
    out.key("ports").begin_array();
    for (const PortRange& range : ports) {
        out.begin_object().key("port").integer(range.first);
        out.key("endPort").integer(range.last);
        out.member("protocol", range.udp ? "UDP" : "TCP").end_object();
    }
    out.end_array();
}

void write_ranges(json::Writer& out, std::string_view name, const std::vector<Prefix>& ranges)
{
    if (ranges.empty())
        return;
    std::vector<std::string> texts;
    std::ranges::transform(ranges, std::back_inserter(texts),
                           [](const Prefix& range) { return range.text(); });
    out.strings(name, texts);
}

// Writes every port with its protocol, so that a rule means the same in either kind of list.
void write_list(json::Writer& out, std::string_view name, const std::vector<AllowRule>& list)
{
    out.key(name).begin_array();
    for (const AllowRule& rule : list) {
        out.begin_object().member("to", text_of(rule.to));
        write_ports(out, rule.ports);
        write_ranges(out, "except", rule.except);
        if (rule.tls != Tls::same_name)
            out.member("tls", word_for(rule.tls));
        write_ranges(out, "within", rule.within);
        out.end_object();
    }
    out.end_array();
}

} // namespace

Result<GateRules> read_gate_rules(json::View root)
{
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

Result<GateRules> read_gate_rules(std::string text)
{
    AH_TRY(const json::Document document,
           json::Document::parse(std::move(text), Code::invalid_policy));
    return read_gate_rules(document.root());
}

void write_gate_rules(json::Writer& out, const GateRules& rules)
{
    out.begin_object().member("handles", rules.handles.text());
    out.member("pool", rules.pool.text());
    out.key("epoch").integer(rules.epoch);
    write_list(out, "allow", rules.allow);
    write_list(out, "deny", rules.deny);
    out.key("endpoints").begin_array();
    for (const GateEndpoint& endpoint : rules.endpoints) {
        out.begin_object().member("name", endpoint.name);
        out.member("to", endpoint.is_host ? "host" : text_of(endpoint.rule.to));
        out.key("port").integer(endpoint.rule.ports.front().first);
        write_ranges(out, "within", endpoint.rule.within);
        out.end_object();
    }
    out.end_array().end_object();
}

std::string to_json(const GateRules& rules)
{
    json::Writer out;
    write_gate_rules(out, rules);
    return out.take();
}

} // namespace anchorhold::rules
