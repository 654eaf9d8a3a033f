// SPDX-License-Identifier: Apache-2.0
#include "schema/decide.hpp"

#include <doctest/doctest.h>

#include <array>

namespace anchorhold::decide_test {
namespace {

const HostCaps able{true, true, true, true, {}};
const HostCaps gating{true, true, true, true, {}, true};
const HostCaps no_filter{true, true, true, false, "ip_forward is 0 and read-only"};

Endpoint endpoint(std::string name, std::int64_t listen, std::string_view to)
{
    return {std::move(name), *Port::from(listen, Code::invalid_request),
            *parse_target(to, Code::invalid_request)};
}

Request asking(Egress egress, std::vector<Endpoint> endpoints = {})
{
    Request request;
    request.asked = request.egress = egress;
    request.bounded.resize(endpoints.size());
    request.endpoints = std::move(endpoints);
    return request;
}

Request over_veth(Request request)
{
    request.switches.tcp = Tcp::veth;
    return request;
}

Request allowing(std::string_view list, std::vector<Endpoint> endpoints = {})
{
    Request request = asking(Egress::allowlist, std::move(endpoints));
    request.allow = *rules::parse_allow(list);
    return over_veth(std::move(request));
}

// The same, under the policy's defaults.
Request by_gate(std::string_view list, std::vector<Endpoint> endpoints = {})
{
    Request request = allowing(list, std::move(endpoints));
    request.switches = Switches();
    return request;
}

Decision decided(const Request& request, const HostCaps& host, GivenNetns given)
{
    const auto decision = decide(request, host, given);
    REQUIRE_MESSAGE(decision.has_value(), decision.error().what);
    return *decision;
}

constexpr std::array everywhere{GivenNetns::fresh, GivenNetns::host, GivenNetns::engines,
                                GivenNetns::other};

std::string refusal(const Request& request, const HostCaps& host, Code code,
                    GivenNetns given = GivenNetns::fresh)
{
    const auto decision = decide(request, host, given);
    if (decision)
        return "";
    CHECK(decision.error().code == code);
    return decision.error().what;
}

const Endpoint model = endpoint("model", 8080, "unix:/run/b/x/s");
const Endpoint database = endpoint("db", 5432, "tcp:host:5432");

} // namespace

TEST_CASE("off is severed, with endpoints relayed")
{
    CHECK(*decide(asking(Egress::off), able) == Decision{});
    Decision relayed;
    relayed.posture = Posture::relayed;
    relayed.technique = Technique::relay;
    CHECK(*decide(asking(Egress::off, {model}), able) == relayed);
}

TEST_CASE("open with nothing to add is left alone, with something it is not")
{
    Decision open;
    open.asked = Egress::open;
    open.posture = Posture::open;
    Decision untouched = open;
    untouched.untouched = true;
    CHECK(*decide(asking(Egress::open), {}) == untouched);

    Request with_env = asking(Egress::open);
    with_env.env = {{"A", "b"}};
    CHECK(*decide(with_env, {}) == open);

    open.technique = Technique::relay;
    CHECK(*decide(asking(Egress::open, {model}), {false, true, false, false, {}}) == open);
}

TEST_CASE("what needs the gate is refused where there is none, never taken for open")
{
    const std::string no_gate = " needs the gate, which does not work on this host, see anchorhold "
                                "doctor; ";
    CHECK(refusal(asking(Egress::off, {model, database}), able, Code::posture_unavailable) ==
          "endpoint db: tcp:host:5432" + no_gate +
              "tcp:host:PORT can do without, by \"tcp\": \"veth\"");
    CHECK(refusal(by_gate("x.org, **.y.org"), able, Code::posture_unavailable) ==
          "allow **.y.org tcp 443: a wildcard" + no_gate + "or list the names");
    Request hidden = by_gate("x.org");
    hidden.allow.front().tls = rules::Tls::no_ech;
    CHECK(refusal(hidden, able, Code::posture_unavailable) ==
          "allow x.org tcp 443 tls no-ech: \"tls\": \"no-ech\" needs the gate, which does not work "
          "on this host, see anchorhold doctor");
    CHECK(decide(hidden, gating));
    const auto wildcard = [](AllowBy by, PodRole role, GivenNetns given) {
        Request request = by_gate("*.x.org");
        request.switches.allow_by = by;
        request.role = role;
        return refusal(request, gating, Code::posture_unavailable, given);
    };
    const std::string needs = "allow *.x.org tcp 443: a wildcard needs the gate, ";
    CHECK(wildcard(AllowBy::packets, PodRole::none, GivenNetns::fresh) ==
          needs + "and the policy says \"allow_by\": \"packets\"; or list the names");
    CHECK(wildcard(AllowBy::gate, PodRole::none, GivenNetns::engines) ==
          needs + "which does not serve a network that the engine made; or list the names");
    CHECK(wildcard(AllowBy::automatic, PodRole::sandbox, GivenNetns::fresh) ==
          needs + "which does not serve pods; or list the names");
    CHECK(refusal(allowing("*.x.org", {database}), gating, Code::posture_unavailable) ==
          needs + "and \"tcp\": \"veth\" gives the run a link instead; or list the names");
}

TEST_CASE("a list over tcp is served by the gate, on a host that cannot filter too")
{
    Decision gate;
    gate.asked = Egress::allowlist;
    gate.posture = Posture::filtered;
    gate.technique = Technique::gate;
    for (const HostCaps& host :
         {gating,
          HostCaps{
              .can_isolate = true, .can_relay = true, .no_filter = "no link", .can_gate = true}}) {
        for (const GivenNetns given : {GivenNetns::fresh, GivenNetns::host, GivenNetns::other}) {
            CHECK(decided(by_gate("x.org, **.y.org:22, 192.0.2.0/24"), host, given) == gate);
            CHECK(decided(by_gate("x.org", {model, database}), host, given) == gate);
        }
    }
    CHECK(decided(by_gate("x.org"), gating, GivenNetns::engines).technique == Technique::in_place);
    Request pod = by_gate("x.org");
    pod.role = PodRole::sandbox;
    CHECK(decided(pod, gating, GivenNetns::fresh).technique == Technique::veth);
    CHECK(decided(allowing("x.org", {database}), gating, GivenNetns::fresh).technique ==
          Technique::veth);
}

TEST_CASE("udp is filtered by packets, and missing where the gate serves the rest")
{
    const std::string udp =
        R"({"to":"192.0.2.1","ports":[{"port":53,"protocol":"UDP"},{"port":9}]})";
    const auto technique = [&](const std::string& list, AllowBy by) {
        Request request = by_gate(list);
        request.switches.allow_by = by;
        return decided(request, gating, GivenNetns::fresh).technique;
    };
    CHECK(technique("[\"x.org\"," + udp + "]", AllowBy::automatic) == Technique::veth);
    CHECK(technique("[\"x.org\"," + udp + "]", AllowBy::gate) == Technique::gate);
    CHECK(technique("[\"*.x.org\"," + udp + "]", AllowBy::automatic) == Technique::gate);
    CHECK(technique("x.org", AllowBy::packets) == Technique::veth);

    Request request = by_gate("[\"*.x.org\"," + udp + "]");
    const Decision decision = decided(request, gating, GivenNetns::fresh);
    CHECK(decision.why == Why::no_udp);
    CHECK(
        drop_unserved(decision, request) ==
        std::vector<std::string>{"allow 192.0.2.1/32 udp 53 is missing: the gate carries no UDP"});
    CHECK(request.allow == by_gate("*.x.org, 192.0.2.1:9").allow);
    CHECK(sentence_for(request, decision, 2) ==
          "Network: allowlist — 2 destinations: the gate carries no UDP");
    request = by_gate("[\"*.x.org\"," + udp + "]");
    request.require = Require::asked;
    CHECK(refusal(request, gating, Code::posture_unavailable) ==
          "egress allowlist is required, and the gate, which serves it, carries no UDP");
    Request filtered = by_gate("[" + udp + "]");
    CHECK(drop_unserved(decided(filtered, gating, GivenNetns::fresh), filtered).empty());
    CHECK(filtered == by_gate("[" + udp + "]"));
}

TEST_CASE("allow_by: gate never goes by packets, and says why it is severed")
{
    Request request = by_gate("x.org", {model});
    request.switches.allow_by = AllowBy::gate;
    const Decision severed = decided(request, able, GivenNetns::fresh);
    CHECK(severed.posture == Posture::relayed);
    CHECK(severed.technique == Technique::relay);
    CHECK(sentence_for(request, severed, 1) ==
          "Network: allowlist — sealed to the run's model broker: this host cannot filter (it "
          "needs the gate, which does not work on this host, see anchorhold doctor)");
    request.require = Require::asked;
    CHECK(!decide(request, able));
    request.allow =
        *rules::parse_allow(R"([{"to":"192.0.2.1","ports":[{"port":53,"protocol":"UDP"}]}])");
    request.require = Require::best;
    CHECK(decided(request, gating, GivenNetns::fresh).detail == "the gate carries no UDP");
}

TEST_CASE("a tcp: endpoint goes by the gate: relayed alone, filtered beside a list")
{
    Decision relayed;
    relayed.posture = Posture::relayed;
    relayed.technique = Technique::gate;
    for (const std::string to : {"tcp:host:5432", "tcp:10.0.0.5:5432", "tcp:db.internal:5432"}) {
        const Endpoint there = endpoint("db", 5432, to);
        for (const GivenNetns given : everywhere) // egress off ends in a namespace of its own
            CHECK(decided(asking(Egress::off, {model, there}), gating, given) == relayed);
        CHECK(decided(by_gate("x.org", {there}), gating, GivenNetns::fresh).posture ==
              Posture::filtered);
        CHECK(refusal(asking(Egress::open, {there}), gating, Code::posture_unavailable) ==
              "endpoint db: " + to +
                  " needs a network of the run's own, and egress open gives it none");
        CHECK(refusal(by_gate("x.org", {there}), gating, Code::posture_unavailable,
                      GivenNetns::engines) ==
              "endpoint db: " + to +
                  " needs a network of the run's own, and an allow list is filtered in the one "
                  "that the engine made");
        Request by_packets = by_gate("x.org", {there});
        by_packets.switches.allow_by = AllowBy::packets;
        CHECK(refusal(by_packets, gating, Code::posture_unavailable) ==
              "endpoint db: " + to +
                  " needs the gate, and the allow list is filtered by packets; tcp:host:PORT can "
                  "do without, by \"tcp\": \"veth\"");
    }
}

TEST_CASE("a tcp: endpoint of another host than this one is refused by the gate's name")
{
    for (const std::string to : {"tcp:10.0.0.5:5432", "tcp:db.internal:5432"})
        for (const Request& request : {asking(Egress::off, {endpoint("db", 5432, to)}),
                                       allowing("192.0.2.1", {endpoint("db", 5432, to)})})
            CHECK(refusal(over_veth(request), able, Code::posture_unavailable) ==
                  "endpoint db: " + to +
                      " needs the gate, as the policy's \"tcp\": \"gate\" has it; a link leads to "
                      "tcp:host:PORT alone");
}

TEST_CASE("sealed only for network-off plus a sealable endpoint")
{
    Decision sealed;
    sealed.posture = Posture::sealed;
    sealed.technique = Technique::veth;
    for (const GivenNetns given : everywhere) {
        CHECK(decided(over_veth(asking(Egress::off, {database})), able, given) == sealed);
        // Another endpoint that is relayed beside it makes no difference.
        CHECK(decided(over_veth(asking(Egress::off, {model, database})), able, given) == sealed);
        // It is not sealed without a tcp: endpoint, nor under another egress.
        CHECK(decided(over_veth(asking(Egress::off)), able, given).posture == Posture::severed);
        CHECK(decided(over_veth(asking(Egress::off, {model})), able, given).posture ==
              Posture::relayed);
        CHECK(decided(over_veth(asking(Egress::open, {model})), able, given).posture ==
              Posture::open);
        CHECK(decided(allowing("x.org", {model}), able, given).posture == Posture::filtered);
    }
    CHECK(decided(allowing("x.org", {database}), able, GivenNetns::fresh).posture ==
          Posture::filtered);
    CHECK(refusal(over_veth(asking(Egress::open, {database})), able, Code::posture_unavailable) ==
          "endpoint db: tcp:host:5432 needs a network of the run's own, and egress open gives it "
          "none");
    CHECK(refusal(over_veth(asking(Egress::off, {model, database})), {true, true, false, true, {}},
                  Code::posture_unavailable) ==
          "endpoint db: tcp:host:5432 cannot be sealed on this host, see anchorhold doctor");
}

TEST_CASE("an allow list is filtered, in place where an engine made the network, else by a veth")
{
    Decision filtered;
    filtered.asked = Egress::allowlist;
    filtered.posture = Posture::filtered;
    filtered.technique = Technique::in_place;
    CHECK(decided(allowing("x.org"), able, GivenNetns::engines) == filtered);
    CHECK(decided(allowing("x.org", {model}), able, GivenNetns::engines) == filtered);
    CHECK(refusal(allowing("x.org", {database}), able, Code::posture_unavailable,
                  GivenNetns::engines) ==
          "endpoint db: tcp:host:5432 needs a network of the run's own, and an allow list is "
          "filtered in the one that the engine made");
    filtered.technique = Technique::veth;
    for (const GivenNetns given : {GivenNetns::fresh, GivenNetns::host, GivenNetns::other}) {
        CHECK(decided(allowing("x.org"), able, given) == filtered);
        CHECK(decided(allowing("x.org", {model, database}), able, given) == filtered);
    }
    const Request request = allowing("x.org, 192.0.2.0/24", {database});
    CHECK(sentence_for(request, filtered, 2) ==
          "Network: allowlist — confined: 2 destinations and db");
}

TEST_CASE("host networking: filtered or severed, never left on the host's network")
{
    for (const HostCaps& host : {able, no_filter}) {
        const Decision decision = decided(allowing("x.org", {model}), host, GivenNetns::host);
        CHECK(decision.posture < Posture::open);
        CHECK(decision.technique != Technique::in_place);
        CHECK(!decision.untouched);
    }
}

TEST_CASE("an allowlist that cannot be filtered is severed and still reaches its broker")
{
    Decision severed;
    severed.asked = Egress::allowlist;
    severed.why = Why::cannot_filter;
    severed.detail = "ip_forward is 0 and read-only";
    const std::string because = ": this host cannot filter (ip_forward is 0 and read-only)";
    for (const GivenNetns given : everywhere) {
        CHECK(decided(allowing("x.org"), no_filter, given) == severed);
        CHECK(sentence_for(allowing("x.org"), severed, 1) ==
              "Network: allowlist — severed" + because);

        Decision relayed = severed;
        relayed.posture = Posture::relayed;
        relayed.technique = Technique::relay;
        CHECK(decided(allowing("x.org", {model}), no_filter, given) == relayed);
        CHECK(sentence_for(allowing("x.org", {model}), relayed, 1) ==
              "Network: allowlist — sealed to the run's model broker" + because);

        Decision sealed = severed;
        sealed.posture = Posture::sealed;
        sealed.technique = Technique::veth;
        CHECK(decided(allowing("x.org", {model, database}), no_filter, given) == sealed);
        CHECK(sentence_for(allowing("x.org", {model, database}), sealed, 1) ==
              "Network: allowlist — sealed to model, db" + because);
    }
    CHECK(refusal(allowing("x.org", {database}), {true, true, false, false, {}},
                  Code::posture_unavailable) ==
          "endpoint db: tcp:host:5432 cannot be sealed on this host, see anchorhold doctor");
}

TEST_CASE("require: asked refuses an allowlist that would be severed, and says why")
{
    Request request = allowing("x.org", {model});
    request.require = Require::asked;
    CHECK(refusal(request, no_filter, Code::posture_unavailable) ==
          "egress allowlist is required, and this host cannot filter (ip_forward is 0 and "
          "read-only)");
    CHECK(refusal(request, {true, true, true, false, {}}, Code::posture_unavailable) ==
          "egress allowlist is required, and this host cannot filter");
    CHECK(decide(request, able));
}

TEST_CASE("what this host cannot do is refused, with where to look")
{
    CHECK(refusal(asking(Egress::off), {false, true, true, true, {}}, Code::posture_unavailable) ==
          "this host cannot give a container its own network namespace, see anchorhold doctor");
    CHECK(refusal(asking(Egress::off), {true, false, true, true, {}}, Code::posture_unavailable) ==
          "the relay, which looks from inside before the command goes, does not run on this host, "
          "see anchorhold doctor");
    for (const Egress egress : {Egress::off, Egress::open})
        CHECK(refusal(asking(egress, {model}), {true, false, true, true, {}},
                      Code::endpoint_unavailable) ==
              "endpoint model: the relay does not run on this host, see anchorhold doctor");
}

TEST_CASE("the decision keeps why it is tighter than asked, and the sentence says it")
{
    Request request = asking(Egress::off, {model});
    request.asked = Egress::open;
    request.why = Why::policy_ceiling;
    const auto decision = decide(request, able);
    REQUIRE(decision);
    CHECK(decision->asked == Egress::open);
    CHECK(decision->why == Why::policy_ceiling);
    CHECK(sentence_for(request, *decision, 0) ==
          "Network: open — sealed to the run's model broker: the policy permits no more");
}

} // namespace anchorhold::decide_test
