// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/reachability.hpp"

#include "schema/rules/always_denied.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>

namespace anchorhold::rules {
namespace {

constexpr std::string_view no_address = "it has no address now";

std::string with_port(const std::string& to, const AllowRule& question)
{
    return to + " tcp " + std::to_string(question.ports[0].first);
}

std::string address_text(const Prefix& address)
{
    std::string text = address.text();
    text.resize(text.rfind('/'));
    return text;
}

std::string because(const Judgement& judgement, const Prefix& address, bool by_name)
{
    switch (judgement.ruling) {
    case Ruling::always_denied: return "always denied: " + judgement.rule;
    case Ruling::denied: return "denied by " + judgement.rule;
    case Ruling::allowed: return "allowed by " + judgement.rule;
    case Ruling::not_listed:
        return by_name && is_private(address) ? "a name does not lead to a private address"
                                              : "no rule allows it";
    }
    std::abort(); // a byte that is no Ruling: refuse to guess
}

void judge_address(const Network& network, const Prefix& address, const AllowRule& question,
                   const std::string& name, Reachability& into)
{
    const Judgement judgement = judge(network, address, question.ports[0].first, false);
    const bool allowed = judgement.ruling == Ruling::allowed;
    const std::string to =
        name.empty() ? address_text(address) : name + " (" + address_text(address) + ")";
    into.reachable = into.reachable || allowed;
    into.lines.push_back((allowed ? "reachable: " : "refused: ") + with_port(to, question) + ", " +
                         because(judgement, address, !name.empty()));
}

// Returns the addresses that the network has for a name of the list.
std::vector<Prefix> pinned_addresses(const Network& network, const std::string& name)
{
    std::vector<Prefix> addresses;
    const auto pinned = std::ranges::find(network.names, name, &PinnedName::name);
    for (const std::string& text :
         pinned == network.names.end() ? std::vector<std::string>() : pinned->addresses) {
        if (const auto address = Prefix::parse(text, Code::invalid_request))
            addresses.push_back(*address);
    }
    return addresses;
}

Reachability filtered(const Network& network, const AllowRule& question)
{
    Reachability found;
    if (const auto* const address = std::get_if<Prefix>(&question.to)) {
        judge_address(network, *address, question, "", found);
        return found;
    }
    const std::string name = text_of(question.to);
    if (std::ranges::find(network.names, name, &PinnedName::name) == network.names.end()) {
        found.lines = {"refused: " + with_port(name, question) +
                       ", a name that is not listed resolves to nothing"};
        return found;
    }
    for (const Prefix& address : pinned_addresses(network, name))
        judge_address(network, address, question, name, found);
    if (found.lines.empty()) {
        found.lines = {"refused: " + with_port(name, question) + ", " + std::string(no_address)};
    }
    return found;
}

// Returns the endpoint that the question reaches, or null. The relay listens on the container's own
// loopback.
const Endpoint* endpoint_at(const Request& request, const AllowRule& question)
{
    const std::string to = text_of(question.to);
    if (to != "127.0.0.1/32" && to != "localhost")
        return nullptr;
    const auto found = std::ranges::find_if(request.endpoints, [&](const Endpoint& endpoint) {
        return endpoint.listen.number() == question.ports[0].first;
    });
    return found == request.endpoints.end() ? nullptr : &*found;
}

// Judges a name as the gate does before it looks it up.
Reachability gated_name(const GateMatcher& matcher, const NamePattern& name,
                        const AllowRule& question)
{
    const std::string to = with_port(name.text(), question);
    if (const AllowRule* const rule = matcher.rule_for(name, question.ports[0].first)) {
        return {true,
                {"reachable: " + to + ", allowed by " + text_of(*rule) +
                 ", where it leads when it is dialled"}};
    }
    if (matcher.lists(name))
        return {false, {"refused: " + to + ", no rule allows it at this port"}};
    return {false, {"refused: " + to + ", a name that is not listed resolves to nothing"}};
}

// Returns the ports, behind the first, at which to ask about a range of addresses: less is denied
// there than before it, or more is allowed. Between two of them nothing changes.
std::set<int> telling_ports(const Network& network, const Prefix& range, const PortRange& ports)
{
    std::set<int> telling;
    const auto add = [&](const Reach& reach, int port) {
        const bool concerns = reach.to.contains(range) || range.contains(reach.to);
        if (reach.ports.udp == ports.udp && concerns && port > ports.first && port <= ports.last)
            telling.insert(port);
    };
    for (const Reach& reach : network.deny)
        add(reach, reach.ports.last + 1);
    for (const Reach& reach : network.allow)
        add(reach, reach.ports.first);
    return telling;
}

// Says whether an address of a range that a rule allows is not denied at that port. `never` are
// the ranges that stay closed at every port.
bool has_open_address(const Network& network, std::vector<Prefix> never, const Prefix& range,
                      const PortRange& at)
{
    for (const Reach& reach : network.deny) {
        if (reach.ports.udp == at.udp && reach.ports.first <= at.first &&
            at.first <= reach.ports.last)
            never.push_back(reach.to);
    }
    return !is_covered(range, never);
}

// Says whether something of a range is reachable at ports of a rule. A name's address counts when
// any rule allows it, as `check` has it.
bool reaches(const Network& network, const std::vector<Prefix>& never, const Prefix& range,
             const AllowRule& rule)
{
    const bool by_name = std::holds_alternative<NamePattern>(rule.to);
    return std::ranges::any_of(rule.ports, [&](const PortRange& ports) {
        const auto is_open = [&](int port) {
            const auto at = static_cast<std::uint16_t>(port);
            return by_name ? judge(network, range, at, ports.udp).ruling == Ruling::allowed
                           : has_open_address(network, never, range, {at, at, ports.udp});
        };
        return is_open(ports.first) ||
               std::ranges::any_of(telling_ports(network, range, ports), is_open);
    });
}

// Returns why nothing is reachable by a rule; nothing where something is.
std::optional<std::string> obstacle_to(const Network& network, const std::vector<Prefix>& never,
                                       const AllowRule& rule)
{
    const auto* const range = std::get_if<Prefix>(&rule.to);
    const std::vector<Prefix> addresses =
        range != nullptr ? std::vector{*range} : pinned_addresses(network, text_of(rule.to));
    if (addresses.empty())
        return std::string(no_address);
    if (std::ranges::any_of(addresses,
                            [&](const Prefix& one) { return reaches(network, never, one, rule); }))
        return std::nullopt;
    const PortRange& ports = rule.ports.front();
    const Judgement judgement = judge(network, addresses.front(), ports.first, ports.udp);
    return because(judgement, addresses.front(), range == nullptr);
}

} // namespace

Result<AllowRule> parse_question(std::string_view text)
{
    AH_TRY(std::vector<AllowRule> rules, parse_allow(text));
    const auto is_one = [](const AllowRule& rule) {
        if (const auto* const address = std::get_if<Prefix>(&rule.to))
            return address->is_single();
        return std::get<NamePattern>(rule.to).is_exact();
    };
    if (rules.size() != 1 || !is_one(rules[0]) || rules[0].ports.size() != 1) {
        return fail(Code::invalid_request,
                    in_quotes(text) + " is not one address or name, with :PORT or without");
    }
    return std::move(rules[0]);
}

Reachability reachability(const Request& request, const Decision& decision, const Network& network,
                          const AllowRule& question)
{
    const auto* const address = std::get_if<Prefix>(&question.to);
    const std::string to =
        with_port(address != nullptr ? address_text(*address) : text_of(question.to), question);
    if (const Endpoint* const endpoint = endpoint_at(request, question))
        return {true, {"reachable: " + to + ", endpoint " + endpoint->name}};
    switch (decision.posture) {
    case Posture::severed:
    case Posture::relayed:
    case Posture::sealed: return {false, {"refused: " + to + ", there is no egress"}};
    case Posture::filtered: return filtered(network, question);
    case Posture::open: return {true, {"reachable: " + to + ", egress is open"}};
    }
    std::abort(); // a byte that is no Posture: refuse to guess
}

Reachability gate_reachability(const Request& request, const Decision& decision,
                               const GateRules& rules, const std::vector<Prefix>& own,
                               const AllowRule& question)
{
    if (endpoint_at(request, question) != nullptr || decision.posture != Posture::filtered)
        return reachability(request, decision, {}, question);
    const GateMatcher matcher(rules);
    const std::uint16_t port = question.ports[0].first;
    const auto* const address = std::get_if<Prefix>(&question.to);
    if (address == nullptr)
        return gated_name(matcher, std::get<NamePattern>(question.to), question);
    const auto theirs =
        std::ranges::find_if(own, [&](const Prefix& range) { return range.contains(*address); });
    const AllowRule* const rule = matcher.rule_for(*address, port);
    Judgement judgement = matcher.judge(rule != nullptr ? *rule : question, *address, port);
    if (theirs != own.end()) {
        judgement = {Ruling::always_denied, theirs->text()};
    } else if (rule == nullptr && judgement.ruling == Ruling::allowed) {
        judgement = {};
    }
    const bool allowed = judgement.ruling == Ruling::allowed;
    return {allowed,
            {(allowed ? "reachable: " : "refused: ") + with_port(address_text(*address), question) +
             ", " + because(judgement, *address, false)}};
}

std::vector<std::string> rules_without_reach(const Network& network,
                                             const std::vector<AllowRule>& allow)
{
    std::vector<Prefix> never = always_denied(network.pool);
    never.insert(never.end(), network.node.begin(), network.node.end());
    never.insert(never.end(), network.delivered.begin(), network.delivered.end());
    std::vector<std::string> sentences;
    for (const AllowRule& rule : allow) {
        if (const auto why = obstacle_to(network, never, rule))
            sentences.push_back("allow " + text_of(rule) + " reaches nothing: " + *why);
    }
    return sentences;
}

} // namespace anchorhold::rules
