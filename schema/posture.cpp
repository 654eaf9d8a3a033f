// SPDX-License-Identifier: Apache-2.0
// The words and sentences of postures. A word is looked up in the switch that gives it, so there is
// only one list.
#include "schema/posture.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace anchorhold {
namespace {

constexpr std::array egresses{Egress::off, Egress::allowlist, Egress::open};
constexpr std::array postures{Posture::severed, Posture::relayed, Posture::sealed,
                              Posture::filtered, Posture::open};
constexpr std::array techniques{Technique::none, Technique::relay,    Technique::gate,
                                Technique::veth, Technique::in_place, Technique::pod};
constexpr std::array whys{Why::as_asked,      Why::nothing_asked,  Why::policy_ceiling,
                          Why::empty_allow,   Why::cannot_isolate, Why::cannot_relay,
                          Why::cannot_filter, Why::no_udp,         Why::pod_has_less};

template <typename Enum, std::size_t Count>
std::optional<Enum> named(std::string_view word, const std::array<Enum, Count>& all)
{
    for (const Enum one : all) {
        if (word_for(one) == word)
            return one;
    }
    return std::nullopt;
}

// Returns what the run can still reach: "the run's model broker" or "model, search".
std::string reach(const std::vector<std::string>& endpoints)
{
    if (endpoints == std::vector<std::string>{"model"})
        return "the run's model broker";
    std::string list;
    for (const std::string& name : endpoints)
        list += (list.empty() ? "" : ", ") + name;
    return list;
}

// Returns what holds in words: "severed", "sealed to the run's model broker", "3 destinations".
std::string held(const Outcome& outcome)
{
    const bool model_only = outcome.endpoints == std::vector<std::string>{"model"};
    switch (outcome.holds) {
    case Posture::severed: return "severed";
    case Posture::relayed:
        return (model_only ? "sealed to " : "relayed to ") + reach(outcome.endpoints);
    case Posture::sealed: return "sealed to " + reach(outcome.endpoints);
    case Posture::filtered:
        return std::to_string(outcome.destinations) +
               (outcome.destinations == 1 ? " destination" : " destinations") +
               (outcome.endpoints.empty() ? "" : " and " + reach(outcome.endpoints));
    case Posture::open: return "not confined";
    }
    std::abort(); // a byte that is no Posture: refuse to guess
}

std::string_view tightened_because(Why why)
{
    switch (why) {
    case Why::as_asked:
    case Why::nothing_asked: return "";
    case Why::policy_ceiling: return "the policy permits no more";
    case Why::empty_allow: return "the allow list is empty";
    case Why::cannot_isolate: return "this host cannot isolate";
    case Why::cannot_relay: return "this host cannot relay";
    case Why::cannot_filter: return "this host cannot filter";
    case Why::no_udp: return "the gate carries no UDP";
    case Why::pod_has_less: return "its pod has no more";
    }
    std::abort();
}

} // namespace

std::string_view word_for(Egress egress)
{
    switch (egress) {
    case Egress::off: return "off";
    case Egress::allowlist: return "allowlist";
    case Egress::open: return "open";
    }
    std::abort();
}

std::string_view word_for(Posture posture)
{
    switch (posture) {
    case Posture::severed: return "severed";
    case Posture::relayed: return "relayed";
    case Posture::sealed: return "sealed";
    case Posture::filtered: return "filtered";
    case Posture::open: return "open";
    }
    std::abort();
}

std::string_view word_for(Technique technique)
{
    switch (technique) {
    case Technique::none: return "none";
    case Technique::relay: return "relay";
    case Technique::gate: return "gate";
    case Technique::veth: return "veth";
    case Technique::in_place: return "in-place";
    case Technique::pod: return "pod";
    }
    std::abort();
}

std::string_view word_for(Why why)
{
    switch (why) {
    case Why::as_asked: return "as_asked";
    case Why::nothing_asked: return "nothing_asked";
    case Why::policy_ceiling: return "policy_ceiling";
    case Why::empty_allow: return "empty_allow";
    case Why::cannot_isolate: return "cannot_isolate";
    case Why::cannot_relay: return "cannot_relay";
    case Why::cannot_filter: return "cannot_filter";
    case Why::no_udp: return "no_udp";
    case Why::pod_has_less: return "pod_has_less";
    }
    std::abort();
}

std::optional<Egress> egress_from(std::string_view word)
{
    return named(word, egresses);
}
std::optional<Posture> posture_from(std::string_view word)
{
    return named(word, postures);
}
std::optional<Technique> technique_from(std::string_view word)
{
    return named(word, techniques);
}
std::optional<Why> why_from(std::string_view word)
{
    return named(word, whys);
}

std::string sentence_for(const Outcome& outcome)
{
    const std::string begin = "Network: " + std::string(word_for(outcome.asked)) + " — ";
    const std::string because(tightened_because(outcome.why));
    if (!because.empty()) {
        return begin + held(outcome) + ": " + because +
               (outcome.detail.empty() ? "" : " (" + outcome.detail + ")");
    }
    switch (outcome.holds) {
    case Posture::severed: return begin + "confined: no egress";
    case Posture::relayed:
    case Posture::sealed: return begin + "confined: egress " + held(outcome);
    case Posture::filtered: return begin + "confined: " + held(outcome);
    case Posture::open: return begin + held(outcome);
    }
    std::abort();
}

Posture fold(const std::vector<Posture>& postures_held)
{
    const auto loosest = std::max_element(postures_held.begin(), postures_held.end());
    return loosest == postures_held.end() ? Posture::severed : *loosest;
}

} // namespace anchorhold
