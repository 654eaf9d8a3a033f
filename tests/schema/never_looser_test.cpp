// SPDX-License-Identifier: Apache-2.0
// "Never looser than asked, nor than permitted", over the whole domain: every wish, ceiling,
// profile, way to choose it, host and endpoint, through the real resolve() and decide().
#include "schema/decide.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace anchorhold;

namespace {

constexpr std::array egresses{Egress::off, Egress::allowlist, Egress::open};
constexpr std::array requires_{Require::best, Require::asked};
constexpr std::array choosers{ChosenBy::fallback, ChosenBy::annotation, ChosenBy::argv0,
                              ChosenBy::option};

enum class EndpointOf : std::uint8_t { nobody, profile, annotation };

struct Case {
    std::optional<Egress> said; // by the annotation
    Egress base = Egress::off;
    Egress ceiling = Egress::off;
    ChosenBy by = ChosenBy::fallback;
    Require require = Require::best;
    bool annotations = true;
    bool listed = false; // an allow list with an entry
    EndpointOf from = EndpointOf::nobody;
    bool over_tcp = false;
    bool permitted = false; // by sockets and tcp_endpoints
    HostCaps host;
};

Endpoint endpoint_of(const Case& one)
{
    return {"e", *Port::from(80, Code::invalid_request),
            *parse_target(one.over_tcp ? "tcp:host:1" : "unix:/run/b/x/s", Code::invalid_request)};
}

Policy policy_of(const Case& one)
{
    Policy policy;
    policy.annotations = one.annotations;
    policy.ceiling = one.ceiling;
    policy.fallback = "base";
    policy.annotation_profiles = {"base"};
    if (one.permitted) {
        policy.sockets = {"/run/b"};
        policy.tcp_endpoints = {*parse_tcp_target("host:1", Code::invalid_policy)};
    }
    Profile& base = policy.profiles["base"];
    base.name = "base";
    base.egress = one.base;
    if (one.listed)
        base.allow = *parse_allow("x.org");
    if (one.from == EndpointOf::profile)
        base.endpoints = {endpoint_of(one)};
    return policy;
}

Asked asked_of(const Case& one)
{
    Asked asked;
    asked.egress = one.said;
    if (one.require == Require::asked)
        asked.require = one.require;
    if (one.from == EndpointOf::annotation)
        asked.endpoints = {{endpoint_of(one)}};
    if (one.by == ChosenBy::annotation)
        asked.profile = "base";
    return asked;
}

struct Wish { // what may hold at most, worked out from the promise and not from the code
    Egress asked;
    Egress permitted;
};

Wish wish_of(const Case& one)
{
    if (!one.annotations)
        return {one.base, one.base};
    const Egress asked = one.said.value_or(one.base);
    if (one.by == ChosenBy::annotation)
        return {asked, one.ceiling};
    return {asked, std::max(one.base, one.ceiling)};
}

// Empty when what came out keeps the promise, else what is wrong with it.
std::string broken_promise(const Case& one, const Request& request, const Decision& decision)
{
    const auto [asked, permitted] = wish_of(one);
    const bool wants_open = asked == Egress::open && permitted == Egress::open;
    const bool from_stranger = one.from == EndpointOf::annotation || one.by == ChosenBy::annotation;
    if (decision.posture == Posture::filtered || decision.posture == Posture::sealed)
        return "a posture that no technique of this version makes";
    if ((decision.posture == Posture::open) != wants_open)
        return wants_open ? "confined without a reason" : "open though not asked or not permitted";
    if (decision.asked != asked)
        return "the record would not say what was asked";
    if (asked > permitted && (decision.why != Why::policy_ceiling || one.require == Require::asked))
        return "tightened by the ceiling without saying so, or although it was refused";
    if (asked == Egress::allowlist && asked <= permitted && decision.why != Why::empty_allow)
        return "an allow list that is neither empty nor refused";
    if (!wants_open && !one.host.can_isolate)
        return "severed on a host that cannot";
    if (request.endpoints.empty() != (decision.technique == Technique::none))
        return "endpoints without a relay, or a relay without endpoints";
    if (decision.posture == Posture::relayed && request.endpoints.empty())
        return "relayed to nothing";
    if (request.endpoints.empty())
        return "";
    if (!one.host.can_relay || one.over_tcp)
        return "an endpoint that cannot be provided";
    if (from_stranger && !one.permitted)
        return "an endpoint the policy does not permit";
    return "";
}

// The reasons for which a run may be refused: none of them, and it has to start.
bool is_refusable(const Case& one)
{
    const auto [asked, permitted] = wish_of(one);
    const bool over = asked > permitted;
    const bool heard = one.annotations || one.from == EndpointOf::profile;
    const bool has_endpoint = one.from != EndpointOf::nobody && heard;
    const bool from_stranger = one.from == EndpointOf::annotation || one.by == ChosenBy::annotation;
    return (over && one.require == Require::asked) ||
           (!over && asked == Egress::allowlist && one.listed) ||
           (has_endpoint && from_stranger && !one.permitted) ||
           (has_endpoint && (one.over_tcp || !one.host.can_relay)) ||
           (!one.host.can_isolate && (over || asked != Egress::open));
}

template <typename Body> void for_each_host_and_endpoint(Case one, Body body)
{
    for (const EndpointOf from : {EndpointOf::nobody, EndpointOf::profile, EndpointOf::annotation})
        for (unsigned bits = 0; bits < 32; ++bits) {
            one.from = from;
            one.host = {(bits & 1) != 0, (bits & 2) != 0};
            one.over_tcp = (bits & 4) != 0;
            one.permitted = (bits & 8) != 0;
            one.listed = (bits & 16) != 0;
            body(one);
        }
}

template <typename Body> void for_each_case(Body body)
{
    const std::array<std::optional<Egress>, 4> wishes{std::nullopt, Egress::off, Egress::allowlist,
                                                      Egress::open};
    for (const auto& said : wishes)
        for (const Egress base : egresses)
            for (const Egress ceiling : egresses)
                for (const ChosenBy by : choosers)
                    for (const Require require : requires_)
                        for (const bool annotations : {false, true}) {
                            if (!annotations && by == ChosenBy::annotation)
                                continue; // choose_profile() does not hear it
                            Case one;
                            one.said = said;
                            one.base = base;
                            one.ceiling = ceiling;
                            one.by = by;
                            one.require = require;
                            one.annotations = annotations;
                            for_each_host_and_endpoint(one, body);
                        }
}

} // namespace

TEST_CASE("what holds is never looser than asked or permitted, nor refused without a reason")
{
    const auto id = *ContainerId::parse("4f2a");
    std::size_t cases = 0;
    std::size_t opened = 0;
    std::size_t relayed = 0;
    std::size_t tightened = 0;
    for_each_case([&](const Case& one) {
        ++cases;
        const Asked asked = asked_of(one);
        const auto request = resolve(policy_of(one), asked, {"base", one.by}, id);
        const auto decision = request ? decide(*request, one.host) : Decision{};
        REQUIRE((request && decision) == !is_refusable(one));
        if (!request || !decision)
            return;
        REQUIRE(broken_promise(one, *request, *decision) == "");
        opened += decision->posture == Posture::open ? 1 : 0;
        relayed += decision->posture == Posture::relayed ? 1 : 0;
        tightened += decision->why == Why::policy_ceiling ? 1 : 0;
    });
    // The loop saw each outcome, so none of the checks above was idle.
    CHECK(cases == 4 * 3 * 3 * (4 + 3) * 2 * 96);
    CHECK(opened > 1000);
    CHECK(relayed > 1000);
    CHECK(tightened > 500);
}
