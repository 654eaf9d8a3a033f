// SPDX-License-Identifier: Apache-2.0
// The part of its pod's network that a container may share, over the whole domain: every wish
// beside every network that a sandbox may hold, with two endpoints and two destinations each,
// compared with a model of bit sets.
#include "schema/pod.hpp"

#include <doctest/doctest.h>

#include <array>
#include <functional>

namespace anchorhold::pod_test {

using namespace rules;
namespace {

const std::vector<Endpoint> endpoints{{"model", *Port::from(8080, Code::invalid_request),
                                       *parse_target("unix:/b/1/s", Code::invalid_request)},
                                      {"search", *Port::from(9000, Code::invalid_request),
                                       *parse_target("unix:/b/2/s", Code::invalid_request)}};
const std::vector<AllowRule> rules = *parse_allow("192.0.2.1, example.test:80");

template <typename Item> std::vector<Item> chosen(const std::vector<Item>& items, unsigned bits)
{
    std::vector<Item> some;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if ((bits >> i & 1U) != 0)
            some.push_back(items[i]);
    }
    return some;
}

// Bits of `endpoints` and `rules`. There are rules only with an allow list.
struct Case {
    Egress asked = Egress::off;
    unsigned asked_endpoints = 0, asked_rules = 0;
    Require require = Require::best;
    Posture holds = Posture::severed;
    unsigned held_endpoints = 0, held_rules = 0;
    Why why = Why::as_asked;
};

void each_case(const std::function<void(const Case&)>& look)
{
    for (unsigned bits = 0; bits < 16; ++bits) {
        for (unsigned list = 0; list < 16; ++list) {
            for (const Egress asked : {Egress::off, Egress::allowlist, Egress::open}) {
                for (const Posture holds : {Posture::severed, Posture::relayed, Posture::sealed,
                                            Posture::filtered, Posture::open}) {
                    const Case one{asked, bits & 3U,  list & 3U, Require::best,
                                   holds, bits >> 2U, list >> 2U};
                    if ((asked == Egress::allowlist) != (one.asked_rules != 0) ||
                        (holds == Posture::filtered) != (one.held_rules != 0) ||
                        (holds == Posture::severed && one.held_endpoints != 0))
                        continue;
                    look(one);
                }
            }
        }
    }
}

Result<std::optional<Decision>> joined(const Case& one)
{
    Request request;
    request.asked = request.egress = one.asked;
    request.endpoints = chosen(endpoints, one.asked_endpoints);
    request.allow = chosen(rules, one.asked_rules);
    request.require = one.require;
    Record holder;
    holder.posture = one.holds;
    holder.why = one.why;
    holder.reason = one.why == Why::cannot_filter ? "ip_forward is 0" : "";
    holder.endpoints = chosen(endpoints, one.held_endpoints);
    for (const AllowRule& rule : chosen(rules, one.held_rules))
        holder.allow.push_back(text_of(rule));
    return join_pod(request, holder, {});
}

bool is_within(unsigned bits, unsigned of)
{
    return (bits & ~of) == 0;
}

bool gives_only_what_was_asked(const Case& one)
{
    return is_within(one.held_endpoints, one.asked_endpoints) &&
           (one.holds < Posture::filtered || one.asked == Egress::open ||
            (one.holds == Posture::filtered && one.asked == Egress::allowlist &&
             is_within(one.held_rules, one.asked_rules)));
}

bool lacks_destinations(const Case& one)
{
    if (one.asked == Egress::open)
        return one.holds != Posture::open;
    return one.asked == Egress::allowlist &&
           (one.holds < Posture::filtered ||
            (one.holds == Posture::filtered && !is_within(one.asked_rules, one.held_rules)));
}

} // namespace

TEST_CASE(
    "R19 a container shares a pod's network if and only if that gives nothing it did not ask for")
{
    std::array<int, 4> seen{}; // number of cases of each outcome
    each_case([&seen](const Case& one) {
        const auto decision = joined(one);
        if (!is_within(one.asked_endpoints, one.held_endpoints)) {
            REQUIRE(!decision);
            CHECK(decision.error().code == Code::endpoint_unavailable);
            ++seen[0];
        } else if (gives_only_what_was_asked(one)) {
            REQUIRE(decision);
            const Why why = lacks_destinations(one) ? Why::pod_has_less : Why::as_asked;
            CHECK(*decision == Decision{.asked = one.asked,
                                        .posture = one.holds,
                                        .technique = Technique::pod,
                                        .why = why,
                                        .detail = {},
                                        .untouched = false});
            ++seen[1];
        } else if (one.asked == Egress::off) {
            REQUIRE(decision);
            CHECK(!*decision);
            ++seen[2];
        } else {
            REQUIRE(!decision);
            CHECK(decision.error().code == Code::posture_unavailable);
            ++seen[3];
        }
    });
    for (const int count : seen)
        CHECK(count > 0);
}

TEST_CASE("under require: asked a pod that has less refuses, and else why it has is told")
{
    Case one{.asked = Egress::allowlist, .asked_rules = 1};
    one.require = Require::asked;
    auto refused = joined(one);
    REQUIRE(!refused);
    CHECK(refused.error().what ==
          "egress allowlist is required, and its pod has no more than severed");
    one.require = Require::best;
    CHECK((*joined(one))->why == Why::pod_has_less);
    one.why = Why::cannot_filter;
    CHECK((*joined(one))->why == Why::cannot_filter);
    CHECK((*joined(one))->detail == "ip_forward is 0");
}

TEST_CASE("what a container of a pod is told when it may not join")
{
    const auto wants =
        joined({.asked_endpoints = 3, .holds = Posture::relayed, .held_endpoints = 1});
    REQUIRE(!wants);
    CHECK(wants.error().what == "endpoint search: the container's pod was created without it; ask "
                                "for it on the pod");
    const auto narrower = joined({.asked = Egress::allowlist,
                                  .asked_rules = 1,
                                  .holds = Posture::filtered,
                                  .held_rules = 3});
    REQUIRE(!narrower);
    CHECK(narrower.error().what ==
          "it asks for less than its pod's network gives, and only egress off gives a container of "
          "a pod a network of its own");
}

TEST_CASE("what an exception or a later deny takes out must be out of the pod's network as well")
{
    const auto list = [](std::string_view text) {
        const auto parsed = text.empty() ? Result<std::vector<AllowRule>>() : parse_allow(text);
        REQUIRE_MESSAGE(parsed.has_value(), parsed.error().what);
        return *parsed;
    };
    const auto joins = [&list](std::string_view asked, std::string_view held,
                               std::string_view denied, std::string_view denied_now) {
        Request request;
        request.asked = request.egress = Egress::allowlist;
        request.allow = list(asked);
        Record holder;
        holder.posture = Posture::filtered;
        holder.network.emplace();
        compile(list(held), list(denied), *holder.network);
        for (const AllowRule& rule : list(held))
            holder.allow.push_back(text_of(rule));
        const auto decision = join_pod(request, holder, list(denied_now));
        return decision && *decision;
    };
    const std::string_view range = R"(["8.0.0.0/8:80"])";
    const std::string_view holed =
        R"([{"to":"8.0.0.0/8","ports":[{"port":80}],"except":["8.8.8.0/24"]}])";
    const std::string_view both =
        R"(["8.0.0.0/8:80",{"to":"8.8.0.0/16","ports":[{"port":80}],"except":["8.8.8.0/24"]}])";
    CHECK(joins(range, range, "", ""));
    CHECK(joins(holed, holed, "", ""));
    CHECK(!joins(both, range, "", ""));
    CHECK(joins(range, range, R"(["8.8.8.0/24:80"])", R"(["8.8.8.0/24:80"])"));
    CHECK(!joins(range, range, "", R"(["8.8.8.0/24:80"])"));
    CHECK(joins(range, range, R"(["8.8.8.0/24:80"])", "")); // the pod has less
}

} // namespace anchorhold::pod_test
