// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/gate_request.hpp"

#include <doctest/doctest.h>

namespace anchorhold::rules::gate_request_test {
namespace {

Policy policy_of(const std::string& text)
{
    auto policy = parse_policy(text);
    REQUIRE_MESSAGE(policy.has_value(), policy.error().what);
    return *std::move(policy);
}

Request request_of(const Policy& policy)
{
    const auto request =
        resolve(policy, {}, {"p", ChosenBy::option}, {*ContainerId::parse("4f2a"), {}});
    REQUIRE_MESSAGE(request.has_value(), request.error().what);
    return *request;
}

Decision by_gate(Posture posture)
{
    Decision decision;
    decision.posture = posture;
    decision.technique = Technique::gate;
    return decision;
}

} // namespace

TEST_CASE("the gate gets list, denials, ranges and tcp: endpoints of the run")
{
    const Policy policy = policy_of(R"({"pool":"10.1.0.0/16","handles":"10.2.0.0/16",
        "deny":["192.0.2.0/24"],
        "profiles":{"p":{"egress":"allowlist",
            "allow":[{"to":"*.x.org","tls":"any","public_suffix":true},"203.0.113.0/24"],
            "endpoints":[{"name":"m","listen":1,"to":"unix:/a/b"},
                         {"name":"here","listen":2,"to":"tcp:host:5432"},
                         {"name":"six","listen":4,"to":"tcp:[2001:db8::1]:5"},
                         {"name":"db","listen":3,"to":"tcp:db.x.org:9","within":["10.0.0.0/8"]}]}}})");
    const auto rules = gate_rules(request_of(policy), by_gate(Posture::filtered), policy);
    REQUIRE_MESSAGE(rules.has_value(), rules.error().what);
    CHECK(*rules == *read_gate_rules(R"({"pool":"10.1.0.0/16","handles":"10.2.0.0/16",
        "allow":[{"to":"*.x.org","tls":"any"},"203.0.113.0/24"],"deny":["192.0.2.0/24"],
        "endpoints":[{"name":"here","to":"host","port":5432},
                     {"name":"six","to":"2001:db8::1","port":5},
                     {"name":"db","to":"db.x.org","port":9,"within":["10.0.0.0/8"]}]})"));
}

TEST_CASE("a list that was severed is not the gate's, which serves the endpoints all the same")
{
    const Policy policy = policy_of(R"({"allow_by":"gate","profiles":{"p":{"egress":"allowlist",
        "allow":["203.0.113.0/24"],"endpoints":[{"name":"m","listen":1,"to":"tcp:host:2"}]}}})");
    const Request request = request_of(policy);
    const auto decision = decide(request, {true, true, true, true, {}, true}, GivenNetns::engines);
    REQUIRE_MESSAGE(decision.has_value(), decision.error().what);
    CHECK(decision->technique == Technique::gate);
    CHECK(decision->posture == Posture::relayed);
    const auto rules = gate_rules(request, *decision, policy);
    REQUIRE(rules);
    CHECK(rules->allow.empty());
    CHECK(rules->endpoints.size() == 1);
}

TEST_CASE("handles that hold a rule's address are refused, with both")
{
    const Policy policy =
        policy_of(R"({"profiles":{"p":{"egress":"allowlist","allow":["198.19.7.0/24"]}}})");
    const auto rules = gate_rules(request_of(policy), by_gate(Posture::filtered), policy);
    REQUIRE(!rules);
    CHECK(rules.error().what == "handles 198.19.0.0/16 hold a rule's 198.19.7.0/24");
}

} // namespace anchorhold::rules::gate_request_test
