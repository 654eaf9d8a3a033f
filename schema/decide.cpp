// SPDX-License-Identifier: Apache-2.0
// Decides in three steps: refuse what no host offers, then see to the allow list, then to the rest.
// An allow list that cannot be had is decided as if only its endpoints had been asked for.
#include "schema/decide.hpp"

#include <algorithm>

namespace anchorhold {
namespace {

const TcpTarget* tcp_target(const Endpoint& endpoint)
{
    return std::get_if<TcpTarget>(&endpoint.to);
}

bool has_tcp(const Request& request)
{
    return std::ranges::any_of(request.endpoints, [](const Endpoint& endpoint) {
        return tcp_target(endpoint) != nullptr;
    });
}

std::string named(const Endpoint& endpoint)
{
    return "endpoint " + endpoint.name + ": " + target_text(endpoint.to);
}

bool is_wildcard(const rules::AllowRule& rule)
{
    const auto* const name = std::get_if<rules::NamePattern>(&rule.to);
    return name != nullptr && !name->is_exact();
}

bool has_protocol(const Request& request, bool udp)
{
    return std::ranges::any_of(request.allow, [udp](const rules::AllowRule& rule) {
        return std::ranges::any_of(
            rule.ports, [udp](const rules::PortRange& ports) { return ports.udp == udp; });
    });
}

// Returns the first rule that means something to the gate alone, or null.
const rules::AllowRule* rule_for_gate(const Request& request)
{
    const auto found = std::ranges::find_if(request.allow, [](const rules::AllowRule& rule) {
        return is_wildcard(rule) || rule.tls == rules::Tls::no_ech;
    });
    return found == request.allow.end() ? nullptr : &*found;
}

// Returns why the gate does not serve such a run; empty: it does.
std::string obstacle_to_gate(const Request& request, const HostCaps& host)
{
    if (request.role != PodRole::none)
        return "which does not serve pods";
    if (!host.can_gate)
        return "which does not work on this host, see anchorhold doctor";
    return "";
}

// The same for an allow list.
std::string obstacle_to_gate(const Request& request, const HostCaps& host, GivenNetns given)
{
    if (request.switches.allow_by == AllowBy::packets)
        return "and the policy says \"allow_by\": \"packets\"";
    if (given == GivenNetns::engines)
        return "which does not serve a network that the engine made";
    if (has_tcp(request) && request.switches.tcp == Tcp::veth)
        return "and \"tcp\": \"veth\" gives the run a link instead";
    return obstacle_to_gate(request, host);
}

// Refuses what no host offers.
Status check_endpoint(const Endpoint& endpoint, const Request& request)
{
    const TcpTarget* const target = tcp_target(endpoint);
    if (target == nullptr)
        return {};
    if (request.switches.tcp == Tcp::veth && target->host != "host") {
        return fail(Code::posture_unavailable,
                    named(endpoint) +
                        " needs the gate, as the policy's \"tcp\": \"gate\" has it; a "
                        "link leads to tcp:host:PORT alone");
    }
    if (request.egress == Egress::open) {
        return fail(Code::posture_unavailable,
                    named(endpoint) + " needs a network of the run's own, and egress open gives it "
                                      "none");
    }
    return {};
}

Status check_host(const Request& request, const HostCaps& host)
{
    // Refused, because nothing is tighter than a namespace of its own but not to run at all.
    if (request.egress != Egress::open && !host.can_isolate) {
        return fail(Code::posture_unavailable,
                    "this host cannot give a container its own network namespace, see "
                    "anchorhold doctor");
    }
    // The relay is the first process of every confined container: it looks before the command goes.
    if (request.egress != Egress::open && request.endpoints.empty() && !host.can_relay) {
        return fail(Code::posture_unavailable,
                    "the relay, which looks from inside before the command goes, does not run on "
                    "this host, see anchorhold doctor");
    }
    if (!request.endpoints.empty() && !host.can_relay) {
        return fail(Code::endpoint_unavailable, "endpoint " + request.endpoints.front().name +
                                                    ": the relay does not run on this host, see "
                                                    "anchorhold doctor");
    }
    return {};
}

const Endpoint& first_tcp(const Request& request)
{
    return *std::ranges::find_if(request.endpoints, tcp_target);
}

// Decides for egress off, and for an allow list that cannot be had.
Status confine(const Request& request, const HostCaps& host, Decision& decision)
{
    const bool gate = has_tcp(request) && request.switches.tcp == Tcp::gate;
    if (const std::string why = obstacle_to_gate(request, host); gate && !why.empty()) {
        return fail(Code::posture_unavailable,
                    named(first_tcp(request)) + " needs the gate, " + why +
                        "; tcp:host:PORT can do without, by \"tcp\": \"veth\"");
    }
    if (has_tcp(request) && !gate && !host.can_seal) {
        return fail(Code::posture_unavailable, named(first_tcp(request)) +
                                                   " cannot be sealed on this host, see "
                                                   "anchorhold doctor");
    }
    if (gate) {
        decision.posture = Posture::relayed;
        decision.technique = Technique::gate;
    } else if (has_tcp(request)) {
        decision.posture = Posture::sealed;
        decision.technique = Technique::veth;
    } else if (!request.endpoints.empty()) {
        decision.posture = Posture::relayed;
        decision.technique = Technique::relay;
    }
    return {};
}

// Decides for an allow list that cannot be had, because of `detail`.
Status sever(const Request& request, const HostCaps& host, const std::string& detail,
             Decision& decision)
{
    if (request.require == Require::asked) {
        return fail(Code::posture_unavailable,
                    "egress allowlist is required, and this host cannot filter" +
                        (detail.empty() ? "" : " (" + detail + ")"));
    }
    decision.why = Why::cannot_filter;
    decision.detail = detail;
    return confine(request, host, decision);
}

// Filters by packets. Refuses tcp: endpoints that this leaves no way to: in place the run has no
// link of ours that could lead to the host, and no run has both a link and a gate.
Status filter(const Request& request, const HostCaps& host, GivenNetns given, Decision& decision)
{
    if (!host.can_filter)
        return sever(request, host, host.no_filter, decision);
    decision.posture = Posture::filtered;
    decision.technique = given == GivenNetns::engines ? Technique::in_place : Technique::veth;
    if (!has_tcp(request))
        return {};
    if (decision.technique == Technique::in_place) {
        return fail(Code::posture_unavailable,
                    named(first_tcp(request)) +
                        " needs a network of the run's own, and an allow list is filtered in the "
                        "one that the engine made");
    }
    if (request.switches.tcp == Tcp::gate) {
        return fail(Code::posture_unavailable,
                    named(first_tcp(request)) +
                        " needs the gate, and the allow list is filtered by packets; "
                        "tcp:host:PORT can do without, by \"tcp\": \"veth\"");
    }
    return {};
}

Status serve_by_gate(const Request& request, const HostCaps& host, Decision& decision)
{
    if (!has_protocol(request, false))
        return sever(request, host, "the gate carries no UDP", decision);
    if (has_protocol(request, true)) {
        if (request.require == Require::asked) {
            return fail(Code::posture_unavailable, "egress allowlist is required, and the gate, "
                                                   "which serves it, carries no UDP");
        }
        decision.why = Why::no_udp;
    }
    decision.posture = Posture::filtered;
    decision.technique = Technique::gate;
    return {};
}

Status decide_allowlist(const Request& request, const HostCaps& host, GivenNetns given,
                        Decision& decision)
{
    const std::string obstacle = obstacle_to_gate(request, host, given);
    const rules::AllowRule* const for_gate = rule_for_gate(request);
    if (for_gate != nullptr && !obstacle.empty()) {
        return fail(Code::posture_unavailable,
                    "allow " + rules::text_of(*for_gate) + ": " +
                        (is_wildcard(*for_gate) ? "a wildcard" : "\"tls\": \"no-ech\"") +
                        " needs the gate, " + obstacle +
                        (is_wildcard(*for_gate) ? "; or list the names" : ""));
    }
    if (request.switches.allow_by == AllowBy::gate)
        return obstacle.empty() ? serve_by_gate(request, host, decision)
                                : sever(request, host, "it needs the gate, " + obstacle, decision);
    const bool udp_alone = !has_protocol(request, false);
    const bool only_packets =
        has_protocol(request, true) && for_gate == nullptr && !has_tcp(request);
    if (!obstacle.empty() || udp_alone || only_packets)
        return filter(request, host, given, decision);
    return serve_by_gate(request, host, decision);
}

} // namespace

std::optional<Decision> leave_alone(const Request& request)
{
    if (request.egress != Egress::open || !request.endpoints.empty() || !request.env.empty())
        return std::nullopt;
    return Decision{.asked = request.asked,
                    .posture = Posture::open,
                    .technique = Technique::none,
                    .why = request.why,
                    .detail = {},
                    .untouched = true};
}

Result<Decision> decide(const Request& request, const HostCaps& host, GivenNetns given)
{
    for (const Endpoint& endpoint : request.endpoints)
        AH_CHECK(check_endpoint(endpoint, request));
    AH_CHECK(check_host(request, host));
    Decision decision;
    decision.asked = request.asked;
    decision.why = request.why;
    switch (request.egress) {
    case Egress::off: AH_CHECK(confine(request, host, decision)); break;
    case Egress::allowlist: AH_CHECK(decide_allowlist(request, host, given, decision)); break;
    case Egress::open:
        decision.posture = Posture::open;
        decision.technique = request.endpoints.empty() ? Technique::none : Technique::relay;
        decision.untouched = leave_alone(request).has_value();
        break;
    }
    return decision;
}

std::vector<std::string> drop_unserved(const Decision& decision, Request& request)
{
    std::vector<std::string> missing;
    if (decision.technique != Technique::gate || decision.posture != Posture::filtered)
        return missing;
    for (rules::AllowRule& rule : request.allow) {
        rules::AllowRule lost = rule;
        std::erase_if(lost.ports, [](const rules::PortRange& ports) { return !ports.udp; });
        std::erase_if(rule.ports, [](const rules::PortRange& ports) { return ports.udp; });
        if (!lost.ports.empty())
            missing.push_back("allow " + text_of(lost) + " is missing: the gate carries no UDP");
    }
    std::erase_if(request.allow, [](const rules::AllowRule& rule) { return rule.ports.empty(); });
    return missing;
}

bool is_left_alone(const Policy& policy, const std::optional<std::string>& option,
                   const std::optional<std::string>& argv0, const ContainerId& id)
{
    const auto choice = choose_profile(policy, {}, option, argv0);
    const auto request = choice ? resolve(policy, {}, *choice, {id, {}})
                                : Result<Request>(std::unexpected(choice.error()));
    return request && leave_alone(*request).has_value();
}

std::string sentence_for(const Request& request, const Decision& decision, std::size_t destinations)
{
    Outcome outcome{.asked = decision.asked,
                    .holds = decision.posture,
                    .why = decision.why,
                    .endpoints = {},
                    .destinations = destinations,
                    .detail = decision.detail};
    for (const Endpoint& endpoint : request.endpoints)
        outcome.endpoints.push_back(endpoint.name);
    return sentence_for(outcome);
}

} // namespace anchorhold
