// SPDX-License-Identifier: Apache-2.0
// The words for what was asked, what holds, how and why (DESIGN 1). Ordered from tightest to
// loosest: a fallback may only move towards the front. Zero values are the safe ones.
#pragma once

#include "schema/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold {

enum class Egress : std::uint8_t { off, allowlist, open };
enum class Posture : std::uint8_t { severed, relayed, sealed, filtered, open };
enum class Technique : std::uint8_t { none, relay, gate, veth, in_place, pod }; // pod: another's
enum class Require : std::uint8_t { best, asked }; // asked: refuse instead of tightening

enum class Why : std::uint8_t {
    as_asked,
    nothing_asked,  // "posture: default (no annotation received)"
    policy_ceiling, // an annotation asked for more than it may
    empty_allow,    // an allow list with nothing in it is "nothing"
    cannot_isolate, // the probes' answers: this host could not
    cannot_relay,
    cannot_filter,
    pod_has_less, // a container asked for more than the network of its pod has
};

// "off", "severed", "relay", "policy_ceiling": the words of annotations, policy and record.
std::string_view word_for(Egress egress);
std::string_view word_for(Posture posture);
std::string_view word_for(Technique technique); // "in-place"
std::string_view word_for(Why why);
std::optional<Egress> egress_from(std::string_view word);
std::optional<Posture> posture_from(std::string_view word);
std::optional<Technique> technique_from(std::string_view word);
std::optional<Why> why_from(std::string_view word);

// What a sentence is about.
struct Outcome {
    Egress asked = Egress::off;
    Posture holds = Posture::severed;
    Why why = Why::as_asked;
    std::vector<std::string> endpoints; // names, in order
    std::size_t destinations = 0;       // entries of the allow list in force
    std::string detail;                 // more about a tightening, in parentheses
};

// The one sentence every output uses, pinned by tests/schema/sentences.json:
//   Network: off — confined: no egress
//   Network: off — confined: egress sealed to the run's model broker
//   Network: off — confined: egress relayed to model, search
//   Network: open — severed: the policy permits no more
// A single endpoint called "model" is the run's model broker: nothing else is reachable, however
// the bytes travel. decide.hpp has the form for a Request and its Decision.
std::string sentence_for(const Outcome& outcome);

// The least confined of several: how a pod or a job is summed up.
Posture fold(const std::vector<Posture>& postures);

} // namespace anchorhold
