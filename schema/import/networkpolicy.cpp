// SPDX-License-Identifier: Apache-2.0
// Reads NetworkPolicy of networking.k8s.io/v1. The rules of an object add up. A rule without "to"
// means everywhere, one without "ports" means every port of every protocol. A port without a number
// means every port of its protocol, which is TCP when none is named. Labels choose there which pods
// an object is for; here a profile is chosen by name. So a List becomes one profile for each
// object, and never their sum.
#include "schema/import/networkpolicy.hpp"

#include "schema/endpoint.hpp"
#include "schema/policy.hpp"

#include <algorithm>

namespace anchorhold::imports {
namespace {

constexpr std::uint16_t last_port = 65535;
constexpr std::string_view no_address =
    "pods and namespaces have no addresses here; name ranges by ipBlock";

struct Placed {
    json::View at;
    rules::AllowRule rule;
};

Result<std::string> text_at(json::View object, std::string_view name, std::string_view absent)
{
    const auto at = object.find(name);
    if (!at)
        return std::string(absent);
    return at->string();
}

// Returns the elements of a list. Absent, null and empty mean the same in Kubernetes.
Result<std::vector<json::View>> list_at(json::View object, std::string_view name)
{
    const auto at = object.find(name);
    if (!at || at->is_null())
        return std::vector<json::View>();
    return at->array();
}

// ---- ports --------------------------------------------------------------------------------------

Result<std::uint16_t> read_number(json::View at)
{
    AH_TRY(const std::int64_t number, at.integer());
    const auto port = Port::from(number, Code::invalid_request);
    if (!port)
        return std::unexpected(at.wrong(port.error().what));
    return port->number();
}

// Reads a port. The sentence of an error says why the port cannot be kept.
Result<rules::PortRange> read_port_range(json::View at)
{
    AH_CHECK(at.object());
    AH_CHECK(at.only({"port", "endPort", "protocol"}));
    AH_TRY(const std::string protocol, text_at(at, "protocol", "TCP"));
    if (protocol != "TCP" && protocol != "UDP")
        return std::unexpected(at.wrong(in_quotes(protocol) + " is neither TCP nor UDP"));
    rules::PortRange range{1, last_port, protocol == "UDP"};
    const auto port = at.find("port");
    const auto end = at.find("endPort");
    if (port && port->kind() == json::Kind::string)
        return std::unexpected(port->wrong("a port's name means nothing here; name its number"));
    if (end && !port)
        return std::unexpected(end->wrong("there is no port"));
    if (port) {
        AH_TRY(range.first, read_number(*port));
        range.last = range.first;
    }
    if (end) {
        AH_TRY(range.last, read_number(*end));
        if (range.last < range.first)
            return std::unexpected(end->wrong("is below port"));
    }
    return range;
}

// Returns the ports that can be kept. When there are none, the rule cannot be kept either.
std::vector<rules::PortRange> read_ports(json::View rule, const std::vector<json::View>& items,
                                         Draft& draft)
{
    if (items.empty()) {
        draft.lose(rule, "means every protocol; TCP and UDP are kept");
        return all_ports();
    }
    std::vector<rules::PortRange> ports;
    for (const json::View item : items) {
        const auto range = read_port_range(item);
        if (!range) {
            draft.losses.push_back(range.error().what);
        } else if (std::ranges::find(ports, *range) == ports.end()) {
            ports.push_back(*range);
        }
        if (ports.size() > rules::most_rule_parts) {
            draft.lose(rule, "has more than " + std::to_string(rules::most_rule_parts) + " ports");
            return {};
        }
    }
    return ports;
}

// ---- destinations -------------------------------------------------------------------------------

Result<rules::Prefix> read_range(json::View at)
{
    AH_TRY(const std::string text, at.string());
    const auto to = imported_destination(text);
    if (!to)
        return std::unexpected(at.wrong(to.error().what));
    if (const auto* const range = std::get_if<rules::Prefix>(&*to); range && text.contains('/'))
        return *range;
    return std::unexpected(at.expected("a range of addresses"));
}

// Reads an ipBlock. Refuses the whole block when one of its exceptions is not understood, because
// the rest would be wider.
Result<rules::AllowRule> read_block(json::View block)
{
    AH_CHECK(block.object());
    AH_CHECK(block.only({"cidr", "except"}));
    const auto cidr = block.find("cidr");
    if (!cidr)
        return std::unexpected(block.wrong("has no cidr"));
    AH_TRY(const rules::Prefix to, read_range(*cidr));
    rules::AllowRule rule{to, {}, {}};
    AH_TRY(const std::vector<json::View> items, list_at(block, "except"));
    if (items.size() > rules::most_rule_parts) {
        return std::unexpected(
            block.wrong("has more than " + std::to_string(rules::most_rule_parts) + " exceptions"));
    }
    for (const json::View item : items) {
        AH_TRY(const rules::Prefix hole, read_range(item));
        if (!to.contains(hole) || to == hole)
            return std::unexpected(item.wrong("does not lie inside " + to.text()));
        if (std::ranges::find(rule.except, hole) == rule.except.end())
            rule.except.push_back(hole);
    }
    return rule;
}

Result<rules::AllowRule> read_peer(json::View peer)
{
    AH_CHECK(peer.object());
    const auto block = peer.find("ipBlock");
    if (!block || peer.size() != 1)
        return std::unexpected(peer.wrong(no_address));
    return read_block(*block);
}

std::vector<rules::AllowRule> everywhere()
{
    std::vector<rules::AllowRule> rules;
    for (const std::string_view all : {"0.0.0.0/0", "::/0"}) {
        if (const auto range = rules::Prefix::parse(all, Code::invalid_request))
            rules.push_back({*range, {}, {}});
    }
    return rules;
}

std::vector<Placed> read_peers(json::View rule, const std::vector<json::View>& items, Draft& draft)
{
    std::vector<Placed> peers;
    for (const json::View item : items) {
        auto read = read_peer(item);
        if (!read) {
            draft.losses.push_back(read.error().what);
        } else {
            peers.push_back({item, *std::move(read)});
        }
    }
    if (items.empty()) {
        for (rules::AllowRule& all : everywhere())
            peers.push_back({rule, std::move(all)});
    }
    return peers;
}

// Reads a rule. A rule with an unknown member is lost as a whole, because that member may be a
// condition.
Status read_rule(json::View rule, Draft& draft, std::vector<Placed>& rules)
{
    AH_CHECK(rule.object());
    if (const auto known = rule.only({"to", "ports"}); !known) {
        draft.losses.push_back(known.error().what);
        return {};
    }
    AH_TRY(const std::vector<json::View> to, list_at(rule, "to"));
    AH_TRY(const std::vector<json::View> at, list_at(rule, "ports"));
    if (to.empty() && at.empty()) {
        draft.lose(rule, "means everything, which no list is; name what is needed");
        return {};
    }
    const std::vector<rules::PortRange> ports = read_ports(rule, at, draft);
    for (Placed& peer : read_peers(rule, to, draft)) {
        peer.rule.ports = ports;
        if (!ports.empty())
            rules.push_back(std::move(peer));
    }
    return {};
}

// ---- objects ------------------------------------------------------------------------------------

bool meet(const std::vector<rules::PortRange>& one, const std::vector<rules::PortRange>& other)
{
    return std::ranges::any_of(one, [&](const rules::PortRange& a) {
        return std::ranges::any_of(other, [&](const rules::PortRange& b) {
            return a.udp == b.udp && a.first <= b.last && b.first <= a.last;
        });
    });
}

bool is_filled(const Placed& one, const rules::Prefix& hole, const std::vector<Placed>& rules)
{
    return std::ranges::any_of(rules, [&](const Placed& other) {
        const rules::Prefix& to = std::get<rules::Prefix>(other.rule.to);
        return &other != &one && (to.contains(hole) || hole.contains(to)) &&
               !rules::is_covered(hole, other.rule.except) &&
               meet(one.rule.ports, other.rule.ports);
    });
}

// Notes where another rule allows what an exception takes out. In Kubernetes an exception concerns
// only its own block; here it wins over every rule.
void tell_of_holes(const std::vector<Placed>& rules, Draft& draft)
{
    for (const Placed& one : rules) {
        for (const rules::Prefix& hole : one.rule.except) {
            if (!is_filled(one, hole, rules))
                continue;
            draft.lose(one.at,
                       "another rule allows of " + hole.text() + ", and an exception always wins");
        }
    }
}

// Returns whether an object limits egress. Without policyTypes it does so when it has egress rules.
Result<bool> limits_egress(json::View spec, const std::vector<json::View>& rules)
{
    AH_TRY(const std::vector<json::View> types, list_at(spec, "policyTypes"));
    bool limits = types.empty() && !rules.empty();
    for (const json::View item : types) {
        AH_TRY(const std::string type, item.string());
        if (type != "Egress" && type != "Ingress")
            return std::unexpected(item.expected("Egress or Ingress"));
        limits = limits || type == "Egress";
    }
    return limits;
}

Status read_spec(json::View spec, Draft& draft, ImportedProfile& profile)
{
    AH_CHECK(spec.object());
    AH_CHECK(spec.only({"podSelector", "policyTypes", "ingress", "egress"}));
    AH_TRY(const std::vector<json::View> items, list_at(spec, "egress"));
    AH_TRY(const bool limits, limits_egress(spec, items));
    if (const auto pods = spec.find("podSelector"); pods && pods->size() != 0)
        draft.lose(*pods, "labels choose nothing here; the profile is chosen by its name");
    if (const auto ingress = spec.find("ingress"); ingress && ingress->size() != 0)
        draft.lose(*ingress, "a run is connected to from its node alone");
    if (!limits) {
        draft.lose(spec, "does not limit egress, which is everything; the profile is closed");
        return {};
    }
    std::vector<Placed> rules;
    for (const json::View item : items)
        AH_CHECK(read_rule(item, draft, rules));
    tell_of_holes(rules, draft);
    for (Placed& one : rules)
        draft.allow(profile, one.at, std::move(one.rule));
    return {};
}

bool is_taken(const Draft& draft, std::string_view name)
{
    return std::ranges::find(draft.profiles, name, &ImportedProfile::name) != draft.profiles.end();
}

Result<std::string> name_for(json::View object, Draft& draft)
{
    const auto metadata = object.find("metadata");
    const auto at = metadata ? metadata->find("name") : std::nullopt;
    std::string name;
    if (at) {
        AH_TRY(name, at->string());
    }
    if (is_profile_name(name) && name != "off" && name != "open" && !is_taken(draft, name))
        return name;
    std::size_t number = draft.profiles.size() + 1;
    while (is_taken(draft, "policy-" + std::to_string(number)))
        ++number;
    std::string ours = "policy-" + std::to_string(number);
    draft.lose(at ? *at : object,
               in_quotes(name, 64) + " cannot be the name of a profile, " + ours + " is");
    return ours;
}

Status read_object(json::View object, Draft& draft)
{
    const auto spec = object.find("spec");
    if (!spec)
        return std::unexpected(object.wrong("has no spec"));
    ImportedProfile profile;
    AH_TRY(profile.name, name_for(object, draft));
    AH_CHECK(read_spec(*spec, draft, profile));
    draft.profiles.push_back(std::move(profile));
    return {};
}

Result<std::string> kind_of(json::View object)
{
    AH_CHECK(object.object());
    AH_TRY(const std::string version, text_at(object, "apiVersion", ""));
    AH_TRY(const std::string kind, text_at(object, "kind", ""));
    return version + " " + kind;
}

constexpr std::string_view wanted = "networking.k8s.io/v1 NetworkPolicy";

} // namespace

Result<Draft> draft_from_networkpolicy(json::View root)
{
    Draft draft;
    AH_TRY(const std::string kind, kind_of(root));
    if (kind == wanted) {
        AH_CHECK(read_object(root, draft));
        return draft;
    }
    const auto list = root.find("items");
    if (kind != "v1 List" || !list)
        return std::unexpected(root.expected("a " + std::string(wanted) + " or a List of them"));
    AH_TRY(const std::vector<json::View> items, list->array());
    for (const json::View item : items) {
        AH_TRY(const std::string one, kind_of(item));
        if (one != wanted) { // a policy of another kind might deny what this list allows
            return std::unexpected(item.wrong(in_quotes(one, 80) + " is no NetworkPolicy of "
                                                                   "networking.k8s.io/v1"));
        }
        AH_CHECK(read_object(item, draft));
    }
    if (draft.profiles.size() > 1) {
        draft.lose(*list,
                   "labels chose among them; here --ah-profile does, and the default is off");
    }
    return draft;
}

} // namespace anchorhold::imports
