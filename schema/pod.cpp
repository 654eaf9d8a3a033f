// SPDX-License-Identifier: Apache-2.0
#include "schema/pod.hpp"

#include <algorithm>

namespace anchorhold {
namespace {

template <typename Item> bool is_in(const std::vector<Item>& items, const Item& item)
{
    return std::ranges::find(items, item) != items.end();
}

// Returns the first of `endpoints` that is not among `others`, or null.
const Endpoint* beyond(const std::vector<Endpoint>& endpoints, const std::vector<Endpoint>& others)
{
    const auto found = std::ranges::find_if(
        endpoints, [&others](const Endpoint& endpoint) { return !is_in(others, endpoint); });
    return found == endpoints.end() ? nullptr : &*found;
}

// Returns whether all that `deny` and the request's `except` take out is also denied in the pod's
// network.
bool denies_no_less(const Record& holder, const Request& request,
                    const std::vector<rules::AllowRule>& deny)
{
    rules::Network alone;
    const rules::Network shared = holder.network.value_or(rules::Network());
    alone.names = shared.names;
    rules::compile(request.allow, deny, alone);
    return std::ranges::all_of(
        alone.deny, [&shared](const rules::Reach& reach) { return is_in(shared.deny, reach); });
}

// Returns whether the pod's network leads only where the request allows.
bool permits(const Request& request, const Record& holder,
             const std::vector<rules::AllowRule>& deny)
{
    if (beyond(holder.endpoints, request.endpoints) != nullptr)
        return false;
    switch (holder.posture) {
    case Posture::severed:
    case Posture::relayed:
    case Posture::sealed: return true;
    case Posture::open: return request.egress == Egress::open;
    case Posture::filtered: break;
    }
    if (request.egress != Egress::allowlist)
        return request.egress == Egress::open;
    std::vector<std::string> asked;
    asked.reserve(request.allow.size());
    for (const rules::AllowRule& rule : request.allow)
        asked.push_back(rules::text_of(rule));
    return denies_no_less(holder, request, deny) &&
           std::ranges::all_of(holder.allow,
                               [&asked](const std::string& rule) { return is_in(asked, rule); });
}

// Returns whether the request asked for destinations that the pod's network lacks. `permits` holds
// already.
bool wants_more(const Request& request, const Record& holder)
{
    switch (request.egress) {
    case Egress::off: return false;
    case Egress::open: return holder.posture != Posture::open;
    case Egress::allowlist: break;
    }
    return holder.posture < Posture::filtered ||
           std::ranges::any_of(
               request.allow,
               [&holder](const rules::AllowRule& rule) {
                   return !is_in(holder.allow, rules::text_of(rule));
               });
}

} // namespace

Result<std::optional<Decision>> join_pod(const Request& request, const Record& holder,
                                         const std::vector<rules::AllowRule>& deny)
{
    if (const Endpoint* const lacking = beyond(request.endpoints, holder.endpoints)) {
        return fail(Code::endpoint_unavailable, "endpoint " + lacking->name +
                                                    ": the container's pod was created without it; "
                                                    "ask for it on the pod");
    }
    if (!permits(request, holder, deny)) {
        if (request.egress == Egress::off)
            return std::optional<Decision>();
        return fail(Code::posture_unavailable,
                    "it asks for less than its pod's network gives, and only egress off gives a "
                    "container of a pod a network of its own");
    }
    Decision decision{.asked = request.asked,
                      .posture = holder.posture,
                      .technique = Technique::pod,
                      .why = request.why,
                      .detail = {},
                      .untouched = false};
    if (!wants_more(request, holder))
        return decision;
    if (request.require == Require::asked) {
        return fail(Code::posture_unavailable, "egress " + std::string(word_for(request.asked)) +
                                                   " is required, and its pod has no more than " +
                                                   std::string(word_for(holder.posture)));
    }
    const bool host_could_not = holder.why == Why::cannot_filter;
    decision.why = host_could_not ? holder.why : Why::pod_has_less;
    decision.detail = host_could_not ? holder.reason : "";
    return decision;
}

} // namespace anchorhold
