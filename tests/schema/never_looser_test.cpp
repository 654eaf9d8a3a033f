// SPDX-License-Identifier: Apache-2.0
// The property "never looser than asked, nor than permitted", over the whole domain: every wish,
// ceiling, profile, way to choose it, host and endpoint, through the real resolve() and decide().
#include "schema/decide.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace anchorhold::never_looser_test {
namespace {

constexpr std::array egresses{Egress::off, Egress::allowlist, Egress::open};
constexpr std::array requires_{Require::best, Require::asked};
constexpr std::array choosers{ChosenBy::fallback, ChosenBy::annotation, ChosenBy::argv0,
                              ChosenBy::option};

constexpr std::array given_netns{GivenNetns::fresh, GivenNetns::host, GivenNetns::engines,
                                 GivenNetns::other};
constexpr const char* no_forwarding = "ip_forward is 0 and read-only";

enum class EndpointOf : std::uint8_t { nobody, profile, annotation };
// The target of an endpoint, and the policy's "tcp" for it.
enum class Over : std::uint8_t { unix_socket, gate, veth, veth_elsewhere };
enum class Listed : std::uint8_t { nothing, address, wildcard };

struct Case {
    std::optional<Egress> said; // by the annotation
    Egress base = Egress::off;
    Egress ceiling = Egress::off;
    ChosenBy by = ChosenBy::fallback;
    Require require = Require::best;
    bool annotations = true;
    Listed listed = Listed::nothing;
    EndpointOf from = EndpointOf::nobody;
    Over over = Over::unix_socket;
    bool permitted = false; // by sockets and tcp_endpoints
};

struct Host {
    HostCaps caps;
    GivenNetns given = GivenNetns::fresh;
};

const char* target_of(Over over)
{
    switch (over) {
    case Over::unix_socket: return "unix:/run/b/x/s";
    case Over::gate:
    case Over::veth: return "tcp:host:1";
    case Over::veth_elsewhere: return "tcp:192.0.2.1:1";
    }
    std::abort();
}

Endpoint endpoint_of(const Case& one)
{
    return {"e", *Port::from(80, Code::invalid_request),
            *parse_target(target_of(one.over), Code::invalid_request)};
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
        policy.tcp_endpoints = {*parse_tcp_target("host:1", Code::invalid_policy),
                                *parse_tcp_target("192.0.2.1:1", Code::invalid_policy)};
    }
    if (one.over == Over::veth || one.over == Over::veth_elsewhere)
        policy.switches.tcp = Tcp::veth;
    Profile& base = policy.profiles["base"];
    base.name = "base";
    base.egress = one.base;
    base.switches = policy.switches;
    if (one.listed != Listed::nothing)
        base.allow =
            *rules::parse_allow(one.listed == Listed::address ? "192.0.2.0/24" : "*.x.org");
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

// The most that may hold. It is worked out from the promise, not from the code.
struct Wish {
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

// Returns the posture that must hold for a run that starts, worked out from the promise.
Posture promised(const Case& one, const Host& host)
{
    const auto [asked, permitted] = wish_of(one);
    const bool granted = asked <= permitted;
    const bool heard = one.annotations || one.from == EndpointOf::profile;
    const bool has_endpoint = one.from != EndpointOf::nobody && heard;
    if (asked == Egress::open && granted)
        return Posture::open;
    if (asked == Egress::allowlist && granted && one.listed != Listed::nothing &&
        host.caps.can_filter)
        return Posture::filtered;
    if (!has_endpoint)
        return Posture::severed;
    return one.over == Over::unix_socket ? Posture::relayed : Posture::sealed;
}

Why promised_why(const Case& one, const Host& host)
{
    const auto [asked, permitted] = wish_of(one);
    if (asked > permitted)
        return Why::policy_ceiling;
    if (asked == Egress::allowlist && one.listed == Listed::nothing)
        return Why::empty_allow;
    if (asked == Egress::allowlist && !host.caps.can_filter)
        return Why::cannot_filter;
    return Why::as_asked;
}

Technique promised_technique(const Case& one, const Host& host, bool has_endpoints)
{
    switch (promised(one, host)) {
    case Posture::severed: return Technique::none;
    case Posture::relayed: return Technique::relay;
    case Posture::sealed: return Technique::veth;
    case Posture::filtered:
        return host.given == GivenNetns::engines ? Technique::in_place : Technique::veth;
    case Posture::open: return has_endpoints ? Technique::relay : Technique::none;
    }
    std::abort();
}

// Returns how the decision breaks the promise; empty: it keeps it.
std::string broken_promise(const Case& one, const Host& host, const Request& request,
                           const Decision& decision)
{
    const auto [asked, permitted] = wish_of(one);
    const bool from_stranger = one.from == EndpointOf::annotation || one.by == ChosenBy::annotation;
    if (decision.posture != promised(one, host))
        return "another posture than promised";
    if (decision.posture == Posture::open && std::min(asked, permitted) != Egress::open)
        return "open though not asked or not permitted";
    if (decision.posture == Posture::filtered && std::min(asked, permitted) != Egress::allowlist)
        return "filtered though not asked or not permitted";
    if (decision.asked != asked)
        return "the record would not say what was asked";
    const Why why = promised_why(one, host);
    if (decision.why != why && !(why == Why::as_asked && decision.why == Why::nothing_asked))
        return "tightened without saying so, or not tightened and saying so";
    if (decision.detail != (why == Why::cannot_filter ? no_forwarding : ""))
        return "the reason is not kept";
    if (decision.technique != promised_technique(one, host, !request.endpoints.empty()))
        return "another technique than promised";
    if (decision.posture == Posture::filtered && !host.caps.can_filter)
        return "filtered on a host that cannot";
    if (decision.posture == Posture::sealed && !host.caps.can_seal)
        return "sealed on a host that cannot";
    if (decision.posture != Posture::open && !(host.caps.can_isolate && host.caps.can_relay))
        return "severed on a host that cannot";
    if (!request.endpoints.empty() && (!host.caps.can_relay || (from_stranger && !one.permitted)))
        return "an endpoint that cannot be provided, or that the policy does not permit";
    return "";
}

// Returns whether there is a reason to refuse the run. Without one it has to start.
bool is_refusable(const Case& one, const Host& host)
{
    const auto [asked, permitted] = wish_of(one);
    const bool over = asked > permitted;
    const bool listed = !over && asked == Egress::allowlist && one.listed != Listed::nothing;
    const bool heard = one.annotations || one.from == EndpointOf::profile;
    const bool has_endpoint = one.from != EndpointOf::nobody && heard;
    const bool from_stranger = one.from == EndpointOf::annotation || one.by == ChosenBy::annotation;
    const bool has_tcp = has_endpoint && one.over != Over::unix_socket;
    const bool filtered_in_place =
        listed && host.caps.can_filter && host.given == GivenNetns::engines;
    return (over && one.require == Require::asked) || (listed && one.listed == Listed::wildcard) ||
           (listed && !host.caps.can_filter && one.annotations && one.require == Require::asked) ||
           (has_endpoint && from_stranger && !one.permitted) ||
           (has_endpoint && !host.caps.can_relay) || (has_tcp && one.over != Over::veth) ||
           (has_tcp && (filtered_in_place || promised(one, host) == Posture::open)) ||
           (has_tcp && promised(one, host) == Posture::sealed && !host.caps.can_seal) ||
           (!(host.caps.can_isolate && host.caps.can_relay) && (over || asked != Egress::open));
}

template <typename Body> void for_each_endpoint(Case one, Body body)
{
    for (const EndpointOf from : {EndpointOf::nobody, EndpointOf::profile, EndpointOf::annotation})
        for (const Over over : {Over::unix_socket, Over::gate, Over::veth, Over::veth_elsewhere})
            for (const Listed listed : {Listed::nothing, Listed::address, Listed::wildcard})
                for (const bool permitted : {false, true}) {
                    one.from = from;
                    one.over = over;
                    one.listed = listed;
                    one.permitted = permitted;
                    body(one);
                }
}

template <typename Body> void for_each_host(Body body)
{
    for (const GivenNetns given : given_netns)
        for (unsigned bits = 0; bits < 16; ++bits)
            body(Host{
                {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0, no_forwarding},
                given});
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
                                continue; // choose_profile() does not look at it
                            Case one;
                            one.said = said;
                            one.base = base;
                            one.ceiling = ceiling;
                            one.by = by;
                            one.require = require;
                            one.annotations = annotations;
                            for_each_endpoint(one, body);
                        }
}

} // namespace

TEST_CASE("what holds is never looser than asked or permitted, nor refused without a reason")
{
    const auto id = *ContainerId::parse("4f2a");
    std::size_t cases = 0;
    std::array<std::size_t, 5> held{};
    std::array<std::size_t, 7> why{};
    for_each_case([&](const Case& one) {
        const auto request = resolve(policy_of(one), asked_of(one), {"base", one.by}, {id, {}});
        for_each_host([&](const Host& host) {
            ++cases;
            const auto decision = request ? decide(*request, host.caps, host.given) : Decision{};
            if ((request && decision) == is_refusable(one, host))
                FAIL("refused without a reason, or started although there was one");
            if (!request || !decision)
                return;
            if (const auto broken = broken_promise(one, host, *request, *decision); !broken.empty())
                FAIL(broken);
            ++held[static_cast<std::size_t>(decision->posture)];
            ++why[static_cast<std::size_t>(decision->why)];
        });
    });
    // Each outcome was seen, so every check above was used.
    CHECK(cases == std::size_t{4} * 3 * 3 * (4 + 3) * 2 * 72 * 64);
    for (const std::size_t times : held)
        CHECK(times > 1000);
    for (const Why one : {Why::as_asked, Why::policy_ceiling, Why::empty_allow, Why::cannot_filter})
        CHECK(why[static_cast<std::size_t>(one)] > 1000);
}

} // namespace anchorhold::never_looser_test
