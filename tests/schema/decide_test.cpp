// SPDX-License-Identifier: Apache-2.0
#include "schema/decide.hpp"

#include <doctest/doctest.h>

using namespace anchorhold;

namespace {

constexpr HostCaps able{true, true};

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

std::string refusal(const Request& request, const HostCaps& host, Code code)
{
    const auto decision = decide(request, host);
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
    // Without endpoints nobody needs the relay.
    CHECK(*decide(asking(Egress::off), {true, false}) == Decision{});
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
    CHECK(*decide(asking(Egress::open, {model}), {false, true}) == open);
}

TEST_CASE("what a later version does is refused, never taken for open")
{
    CHECK(refusal(asking(Egress::allowlist), able, Code::posture_unavailable) ==
          "egress allowlist is not available yet");
    for (const Egress egress : {Egress::off, Egress::open})
        CHECK(refusal(asking(egress, {model, database}), able, Code::posture_unavailable) ==
              "endpoint db: tcp:host:5432 is not available yet, only unix: is");
}

TEST_CASE("what this host cannot do is refused, with where to look")
{
    CHECK(refusal(asking(Egress::off), {false, true}, Code::posture_unavailable) ==
          "this host cannot give a container its own network namespace, see anchorhold doctor");
    for (const Egress egress : {Egress::off, Egress::open})
        CHECK(refusal(asking(egress, {model}), {true, false}, Code::endpoint_unavailable) ==
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
    CHECK(sentence_for(request, *decision) ==
          "Network: open — sealed to the run's model broker: the policy permits no more");
}
