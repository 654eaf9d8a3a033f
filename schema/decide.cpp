// SPDX-License-Identifier: Apache-2.0
// Decides in three steps: refuse what no host offers in this version, then see to the allow list,
// then to the rest. An allow list that cannot be filtered is decided as if only its endpoints had
// been asked for.
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

Status check_endpoint(const Endpoint& endpoint, const Request& request)
{
    const TcpTarget* const target = tcp_target(endpoint);
    if (target == nullptr)
        return {};
    const std::string named = "endpoint " + endpoint.name + ": " + target_text(endpoint.to);
    if (request.switches.tcp == Tcp::gate) {
        return fail(Code::posture_unavailable,
                    named + " is not available yet, only unix: is; or tcp:host:PORT under the "
                            "policy's \"tcp\": \"veth\"");
    }
    if (target->host != "host") {
        return fail(Code::posture_unavailable,
                    named + " needs the gate, which is not available yet; a link leads to "
                            "tcp:host:PORT alone");
    }
    if (request.egress == Egress::open) {
        return fail(Code::posture_unavailable,
                    named + " needs a link of the run's own, and egress open gives it none");
    }
    return {};
}

// Refuses what no host offers in this version.
Status check_available(const Request& request)
{
    for (const Endpoint& endpoint : request.endpoints)
        AH_CHECK(check_endpoint(endpoint, request));
    for (const rules::AllowRule& rule : request.allow) {
        const auto* const name = std::get_if<rules::NamePattern>(&rule.to);
        if (name != nullptr && !name->is_exact()) {
            return fail(Code::posture_unavailable,
                        "allow " + name->text() +
                            ": a wildcard cannot be looked up when the run "
                            "is created; list the names");
        }
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

// Refuses tcp: endpoints in place: there the run has no link of ours that could lead to the host.
Status filter(const Request& request, GivenNetns given, Decision& decision)
{
    decision.posture = Posture::filtered;
    decision.technique = given == GivenNetns::engines ? Technique::in_place : Technique::veth;
    for (const Endpoint& endpoint : request.endpoints) {
        if (decision.technique == Technique::in_place && tcp_target(endpoint) != nullptr) {
            return fail(Code::posture_unavailable,
                        "endpoint " + endpoint.name + ": " + target_text(endpoint.to) +
                            " needs a link of the run's own, and an allow list is filtered in the "
                            "network the engine made");
        }
    }
    return {};
}

// Decides for egress off, and for an allow list on a host that cannot filter.
Status confine(const Request& request, const HostCaps& host, Decision& decision)
{
    if (has_tcp(request) && !host.can_seal) {
        const auto sealed = std::ranges::find_if(request.endpoints, tcp_target);
        return fail(Code::posture_unavailable, "endpoint " + sealed->name + ": " +
                                                   target_text(sealed->to) +
                                                   " cannot be sealed on this host, see "
                                                   "anchorhold doctor");
    }
    if (has_tcp(request)) {
        decision.posture = Posture::sealed;
        decision.technique = Technique::veth;
    } else if (!request.endpoints.empty()) {
        decision.posture = Posture::relayed;
        decision.technique = Technique::relay;
    }
    return {};
}

Status decide_allowlist(const Request& request, const HostCaps& host, GivenNetns given,
                        Decision& decision)
{
    if (host.can_filter)
        return filter(request, given, decision);
    const std::string because = host.no_filter.empty() ? "" : " (" + host.no_filter + ")";
    if (request.require == Require::asked) {
        return fail(Code::posture_unavailable,
                    "egress allowlist is required, and this host cannot filter" + because);
    }
    decision.why = Why::cannot_filter;
    decision.detail = host.no_filter;
    return confine(request, host, decision);
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
    AH_CHECK(check_available(request));
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
