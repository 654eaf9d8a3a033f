// SPDX-License-Identifier: Apache-2.0
#include "schema/posture.hpp"

#include "schema/json/json.hpp"
#include "tests/files.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

namespace anchorhold::posture_test {

namespace {

std::string text_at(json::View object, std::string_view name)
{
    const auto member = object.find(name);
    return member ? *member->string() : "";
}

Outcome outcome_of(json::View row)
{
    Outcome outcome;
    outcome.asked = *egress_from(text_at(row, "asked"));
    outcome.holds = *posture_from(text_at(row, "holds"));
    outcome.why = *why_from(text_at(row, "why"));
    outcome.detail = text_at(row, "detail");
    if (const auto endpoints = row.find("endpoints")) {
        for (const json::View name : endpoints->items())
            outcome.endpoints.push_back(*name.string());
    }
    if (const auto destinations = row.find("destinations"))
        outcome.destinations = static_cast<std::size_t>(*destinations->integer());
    return outcome;
}

Outcome outcome(Egress asked, Posture holds, std::vector<std::string> endpoints)
{
    Outcome outcome;
    outcome.asked = asked;
    outcome.holds = holds;
    outcome.endpoints = std::move(endpoints);
    return outcome;
}

} // namespace

TEST_CASE("every sentence is the pinned one")
{
    const auto fixture = json::Document::parse(source_file("tests/schema/sentences.json"));
    REQUIRE(fixture);
    REQUIRE(fixture->root().size() > 10);
    for (const json::View row : fixture->root().items())
        CHECK(sentence_for(outcome_of(row)) == text_at(row, "sentence"));
}

TEST_CASE("every word leads back to what it names, and no other word does")
{
    for (const auto egress : {Egress::off, Egress::allowlist, Egress::open})
        CHECK(egress_from(word_for(egress)) == egress);
    for (const auto posture :
         {Posture::severed, Posture::relayed, Posture::sealed, Posture::filtered, Posture::open})
        CHECK(posture_from(word_for(posture)) == posture);
    for (const auto technique :
         {Technique::none, Technique::relay, Technique::gate, Technique::veth, Technique::in_place})
        CHECK(technique_from(word_for(technique)) == technique);
    for (const auto why : {Why::as_asked, Why::nothing_asked, Why::policy_ceiling, Why::empty_allow,
                           Why::cannot_isolate, Why::cannot_relay, Why::cannot_filter, Why::no_udp,
                           Why::pod_has_less})
        CHECK(why_from(word_for(why)) == why);
    CHECK(!egress_from("Off"));
    CHECK(!egress_from(""));
    CHECK(!posture_from("severed "));
    CHECK(!technique_from("in_place"));
    CHECK(!why_from("because"));
}

TEST_CASE("several runs are summed up by the least confined, in whatever order")
{
    CHECK(fold({}) == Posture::severed);
    CHECK(fold({Posture::relayed, Posture::open, Posture::severed}) == Posture::open);
    CHECK(fold({Posture::relayed, Posture::severed}) == Posture::relayed);
    CHECK(fold({Posture::filtered, Posture::sealed}) == Posture::filtered);
}

TEST_CASE(
    "seal rank: severed is tighter than relayed, that than sealed, that than filtered and open")
{
    CHECK(Posture::severed < Posture::relayed);
    CHECK(Posture::relayed < Posture::sealed);
    CHECK(Posture::sealed < Posture::filtered);
    CHECK(Posture::filtered < Posture::open);
}

TEST_CASE("fold is deterministic: no order and no repetition of the runs changes it")
{
    constexpr std::array all{Posture::severed, Posture::relayed, Posture::sealed, Posture::filtered,
                             Posture::open};
    for (const Posture one : all)
        for (const Posture two : all)
            for (const Posture three : all) {
                const Posture most = std::max({one, two, three});
                CHECK(fold({one, two, three}) == most);
                CHECK(fold({three, one, two, one}) == most);
            }
}

TEST_CASE("a sealed record says confined, an unconfined one claims neither seal nor severance")
{
    for (const Egress asked : {Egress::off, Egress::allowlist, Egress::open})
        for (const Posture holds : {Posture::severed, Posture::relayed, Posture::sealed}) {
            const std::string sentence = sentence_for(outcome(asked, holds, {"model"}));
            CHECK(sentence.contains(" — confined: "));
        }
    for (const auto& endpoints : {std::vector<std::string>{}, {"model"}, {"model", "db"}}) {
        const std::string open = sentence_for(outcome(Egress::open, Posture::open, endpoints));
        CHECK(open == "Network: open — not confined");
    }
}

TEST_CASE("what nobody filled in is severed")
{
    CHECK(Posture{} == Posture::severed);
    CHECK(Egress{} == Egress::off);
    CHECK(Outcome{}.holds == Posture::severed);
}

} // namespace anchorhold::posture_test
