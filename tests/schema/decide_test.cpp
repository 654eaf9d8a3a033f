// SPDX-License-Identifier: Apache-2.0
#include "schema/decide.hpp"

#include <doctest/doctest.h>

#include <array>

namespace anchorhold::decide_test {
namespace {

const HostCaps able{true, true, true, true, {}};
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

TEST_CASE("what a later version does is refused, never taken for open")
{
    for (const Egress egress : {Egress::off, Egress::open})
        CHECK(refusal(asking(egress, {model, database}), able, Code::posture_unavailable) ==
              "endpoint db: tcp:host:5432 is not available yet, only unix: is; or tcp:host:PORT "
              "under the policy's \"tcp\": \"veth\"");
    CHECK(refusal(allowing("x.org, **.y.org"), able, Code::posture_unavailable) ==
          "allow **.y.org: a wildcard cannot be looked up when the run is created; list the names");
}

TEST_CASE("a tcp: endpoint of another host than this one is refused by the gate's name")
{
    for (const std::string to : {"tcp:10.0.0.5:5432", "tcp:db.internal:5432"})
        for (const Request& request : {asking(Egress::off, {endpoint("db", 5432, to)}),
                                       allowing("192.0.2.1", {endpoint("db", 5432, to)})})
            CHECK(refusal(over_veth(request), able, Code::posture_unavailable) ==
                  "endpoint db: " + to +
                      " needs the gate, which is not available yet; a link leads to "
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
    CHECK(
        refusal(over_veth(asking(Egress::open, {database})), able, Code::posture_unavailable) ==
        "endpoint db: tcp:host:5432 needs a link of the run's own, and egress open gives it none");
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
          "endpoint db: tcp:host:5432 needs a link of the run's own, and an allow list is filtered "
          "in the network the engine made");
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
