// SPDX-License-Identifier: Apache-2.0
#include "schema/decide.hpp"

#include <cstdlib>

namespace anchorhold {
namespace {

// What no host has in this version.
Status check_available(const Request& request)
{
    if (request.egress == Egress::allowlist)
        return fail(Code::posture_unavailable, "egress allowlist is not available yet");
    for (const Endpoint& endpoint : request.endpoints) {
        if (std::holds_alternative<TcpTarget>(endpoint.to)) {
            return fail(Code::posture_unavailable, "endpoint " + endpoint.name + ": " +
                                                       target_text(endpoint.to) +
                                                       " is not available yet, only unix: is");
        }
    }
    return {};
}

} // namespace

Result<Decision> decide(const Request& request, const HostCaps& host, GivenNetns)
{
    AH_CHECK(check_available(request), "");
    Decision decision;
    decision.asked = request.asked;
    decision.why = request.why;
    const bool open = request.egress == Egress::open;
    // There is nothing tighter than a namespace of its own to fall back to but not running.
    if (!open && !host.can_isolate) {
        return fail(Code::posture_unavailable,
                    "this host cannot give a container its own network namespace, see "
                    "anchorhold doctor");
    }
    if (!request.endpoints.empty() && !host.can_relay) {
        return fail(Code::endpoint_unavailable, "endpoint " + request.endpoints.front().name +
                                                    ": the relay does not run on this host, see "
                                                    "anchorhold doctor");
    }
    if (!request.endpoints.empty())
        decision.technique = Technique::relay;
    if (open) {
        decision.posture = Posture::open;
    } else if (!request.endpoints.empty()) {
        decision.posture = Posture::relayed;
    }
    decision.untouched = open && request.endpoints.empty() && request.env.empty();
    return decision;
}

std::string sentence_for(const Request& request, const Decision& decision)
{
    Outcome outcome{.asked = decision.asked,
                    .holds = decision.posture,
                    .why = decision.why,
                    .endpoints = {},
                    .destinations = request.allow.size(),
                    .detail = {}};
    for (const Endpoint& endpoint : request.endpoints)
        outcome.endpoints.push_back(endpoint.name);
    return sentence_for(outcome);
}

} // namespace anchorhold
