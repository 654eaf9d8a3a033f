// SPDX-License-Identifier: Apache-2.0
// The property "never looser than asked, nor than permitted", over the whole domain: every wish,
// ceiling, profile, way to choose it, host and endpoint, through the real resolve() and decide().
#include "schema/decide.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>

namespace anchorhold::never_looser_test {
namespace {

constexpr std::array egresses{Egress::off, Egress::allowlist, Egress::open};
constexpr std::array requires_{Require::best, Require::asked};
constexpr std::array choosers{ChosenBy::fallback, ChosenBy::annotation, ChosenBy::argv0,
                              ChosenBy::option};

constexpr std::array given_netns{GivenNetns::fresh, GivenNetns::host, GivenNetns::engines};
constexpr const char* no_forwarding = "ip_forward is 0 and read-only";

enum class EndpointOf : std::uint8_t { nobody, profile, annotation };
// The target of an endpoint, and the policy's "tcp" for it.
enum class Over : std::uint8_t { unix_socket, gate, veth, veth_elsewhere };
enum class Listed : std::uint8_t { nothing, address, udp, both, wildcard, wildcard_and_udp };

constexpr std::array lists{
    "",
    "192.0.2.0/24",
    R"([{"to":"192.0.2.1","ports":[{"port":53,"protocol":"UDP"}]}])",
    R"([{"to":"192.0.2.1","ports":[{"port":53,"protocol":"UDP"},{"port":53}]}])",
    "*.x.org",
    R"(["*.x.org",{"to":"192.0.2.1","ports":[{"port":53,"protocol":"UDP"}]}])"};

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
    AllowBy allow_by = AllowBy::automatic;
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
    policy.switches.allow_by = one.allow_by;
    Profile& base = policy.profiles["base"];
    base.name = "base";
    base.egress = one.base;
    base.switches = policy.switches;
    if (one.listed != Listed::nothing)
        base.allow = *rules::parse_allow(lists[static_cast<std::size_t>(one.listed)]);
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

bool has_endpoint(const Case& one)
{
    const bool heard = one.annotations || one.from == EndpointOf::profile;
    return one.from != EndpointOf::nobody && heard;
}

bool is_granted_list(const Case& one)
{
    const auto [asked, permitted] = wish_of(one);
    return asked == Egress::allowlist && asked <= permitted && one.listed != Listed::nothing;
}

bool has_wildcard(const Case& one)
{
    return one.listed == Listed::wildcard || one.listed == Listed::wildcard_and_udp;
}

bool has_udp(const Case& one)
{
    return one.listed == Listed::udp || one.listed == Listed::both ||
           one.listed == Listed::wildcard_and_udp;
}

// Returns whether a gate may serve the run's list: not in an engine's network, not beside a link.
bool is_for_gate(const Case& one, const Host& host)
{
    const bool has_link =
        has_endpoint(one) && (one.over == Over::veth || one.over == Over::veth_elsewhere);
    return host.caps.can_gate && host.given != GivenNetns::engines &&
           one.allow_by != AllowBy::packets && !has_link;
}

enum class Served : std::uint8_t { not_at_all, by_gate, by_packets };
Served served(const Case& one, const Host& host)
{
    const bool for_gate = is_for_gate(one, host) && one.listed != Listed::udp;
    if (one.allow_by == AllowBy::gate || has_wildcard(one))
        return for_gate ? Served::by_gate : Served::not_at_all;
    const bool gate_endpoint = has_endpoint(one) && one.over == Over::gate;
    if (for_gate && (one.listed != Listed::both || gate_endpoint))
        return Served::by_gate;
    return host.caps.can_filter ? Served::by_packets : Served::not_at_all;
}

// Returns the posture that must hold for a run that starts, worked out from the promise.
Posture promised(const Case& one, const Host& host)
{
    const auto [asked, permitted] = wish_of(one);
    if (asked == Egress::open && asked <= permitted)
        return Posture::open;
    if (is_granted_list(one) && served(one, host) != Served::not_at_all)
        return Posture::filtered;
    if (!has_endpoint(one))
        return Posture::severed;
    return one.over == Over::unix_socket || one.over == Over::gate ? Posture::relayed
                                                                   : Posture::sealed;
}

Why promised_why(const Case& one, const Host& host)
{
    const auto [asked, permitted] = wish_of(one);
    if (asked > permitted)
        return Why::policy_ceiling;
    if (asked == Egress::allowlist && one.listed == Listed::nothing)
        return Why::empty_allow;
    if (!is_granted_list(one))
        return Why::as_asked;
    if (served(one, host) == Served::not_at_all)
        return Why::cannot_filter;
    return served(one, host) == Served::by_gate && has_udp(one) ? Why::no_udp : Why::as_asked;
}

Technique promised_technique(const Case& one, const Host& host, bool has_endpoints)
{
    switch (promised(one, host)) {
    case Posture::severed: return Technique::none;
    case Posture::relayed: return one.over == Over::gate ? Technique::gate : Technique::relay;
    case Posture::sealed: return Technique::veth;
    case Posture::filtered:
        if (served(one, host) == Served::by_gate)
            return Technique::gate;
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
    const Egress least = std::min(asked, permitted);
    if ((decision.posture == Posture::open && least != Egress::open) ||
        (decision.posture == Posture::filtered && least != Egress::allowlist))
        return "open or filtered though not asked or not permitted";
    if (decision.asked != asked)
        return "the record would not say what was asked";
    const Why why = promised_why(one, host);
    if (decision.why != why && !(why == Why::as_asked && decision.why == Why::nothing_asked))
        return "tightened without saying so, or not tightened and saying so";
    if (why == Why::cannot_filter ? decision.detail.empty() : !decision.detail.empty())
        return "the reason is not kept";
    if (decision.technique != promised_technique(one, host, !request.endpoints.empty()))
        return "another technique than promised";
    const bool by_gate = decision.technique == Technique::gate;
    if (decision.posture == Posture::filtered && !by_gate && !host.caps.can_filter)
        return "filtered on a host that cannot";
    const bool engines = host.given == GivenNetns::engines && decision.posture > Posture::relayed;
    if (by_gate && (!host.caps.can_gate || engines))
        return "by a gate where there is none";
    if (decision.posture == Posture::sealed && !host.caps.can_seal)
        return "sealed on a host that cannot";
    if (decision.posture != Posture::open && !(host.caps.can_isolate && host.caps.can_relay))
        return "severed on a host that cannot";
    if (!request.endpoints.empty() && (!host.caps.can_relay || (from_stranger && !one.permitted)))
        return "an endpoint that cannot be provided, or that the policy does not permit";
    return "";
}

// Returns whether there is no way to an endpoint tcp:HOST:PORT beside the posture that holds.
bool lacks_way(const Case& one, const Host& host)
{
    if (!has_endpoint(one) || one.over == Over::unix_socket)
        return false;
    if (one.over == Over::veth_elsewhere)
        return true; // a link leads to this host alone
    const Posture posture = promised(one, host);
    const Technique technique = promised_technique(one, host, true);
    if (posture == Posture::open || technique == Technique::in_place)
        return true;
    if (one.over == Over::gate)
        return technique != Technique::gate || !host.caps.can_gate;
    return posture == Posture::sealed && !host.caps.can_seal;
}

// Returns whether there is a reason to refuse the run. Without one it has to start.
bool is_refusable(const Case& one, const Host& host)
{
    const auto [asked, permitted] = wish_of(one);
    const bool over = asked > permitted;
    const bool listed = is_granted_list(one);
    const bool from_stranger = one.from == EndpointOf::annotation || one.by == ChosenBy::annotation;
    const bool lacks = listed && promised_why(one, host) != Why::as_asked;
    return (over && one.require == Require::asked) ||
           (listed && has_wildcard(one) && !is_for_gate(one, host)) ||
           (lacks && one.annotations && one.require == Require::asked) ||
           (has_endpoint(one) && from_stranger && !one.permitted) ||
           (has_endpoint(one) && !host.caps.can_relay) || lacks_way(one, host) ||
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
        for (unsigned bits = 0; bits < 32; ++bits) {
            const auto bit = [bits](unsigned at) { return (bits >> at & 1U) != 0; };
            body(Host{{bit(0), bit(1), bit(2), bit(3), no_forwarding, bit(4)}, given});
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

// Every list and every way to serve it, where the list is granted: the profile's own, or one that
// an annotation asks for under the ceiling.
template <typename Body> void for_each_list(Body body)
{
    for (const ChosenBy by : {ChosenBy::fallback, ChosenBy::annotation})
        for (const Require require : requires_)
            for (const AllowBy allow_by : {AllowBy::automatic, AllowBy::gate, AllowBy::packets})
                for (const Listed listed :
                     {Listed::nothing, Listed::address, Listed::udp, Listed::both, Listed::wildcard,
                      Listed::wildcard_and_udp}) {
                    Case one;
                    one.base = one.ceiling = Egress::allowlist;
                    one.by = by;
                    one.require = require;
                    one.allow_by = allow_by;
                    for_each_endpoint(one, [&](Case with) {
                        with.listed = listed;
                        body(with);
                    });
                }
}

struct Seen {
    std::size_t cases = 0;
    std::array<std::size_t, 9> held{}, why{}, technique{};
};

void check_case(const Case& one, Seen& seen)
{
    const auto id = *ContainerId::parse("4f2a");
    const auto request = resolve(policy_of(one), asked_of(one), {"base", one.by}, {id, {}});
    for_each_host([&](const Host& host) {
        ++seen.cases;
        const auto decision = request ? decide(*request, host.caps, host.given) : Decision{};
        if ((request && decision) == is_refusable(one, host))
            FAIL("refused without a reason, or started although there was one");
        if (!request || !decision)
            return;
        if (const auto broken = broken_promise(one, host, *request, *decision); !broken.empty())
            FAIL(broken);
        ++seen.held[static_cast<std::size_t>(decision->posture)];
        ++seen.why[static_cast<std::size_t>(decision->why)];
        ++seen.technique[static_cast<std::size_t>(decision->technique)];
    });
}

} // namespace

TEST_CASE("what holds is never looser than asked or permitted, nor refused without a reason")
{
    Seen seen;
    for_each_case([&](const Case& one) { check_case(one, seen); });
    CHECK(seen.cases == std::size_t{4} * 3 * 3 * (4 + 3) * 2 * 72 * 96);
    for (const std::size_t times : std::span(seen.held).first(5))
        CHECK(times > 1000);
    for (const Why one : {Why::as_asked, Why::policy_ceiling, Why::empty_allow, Why::cannot_filter})
        CHECK(seen.why[static_cast<std::size_t>(one)] > 1000);
}

TEST_CASE("an allow list is served as the policy says, by gate or by packets, never looser")
{
    Seen seen;
    for_each_list([&](const Case& one) { check_case(one, seen); });
    for (const Why one : {Why::as_asked, Why::empty_allow, Why::cannot_filter, Why::no_udp})
        CHECK(seen.why[static_cast<std::size_t>(one)] > 100);
    for (const Technique one :
         {Technique::none, Technique::relay, Technique::gate, Technique::veth, Technique::in_place})
        CHECK(seen.technique[static_cast<std::size_t>(one)] > 100);
}

} // namespace anchorhold::never_looser_test
