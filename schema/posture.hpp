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
enum class Technique : std::uint8_t { none, relay, gate, veth, in_place };
enum class Require : std::uint8_t { best, asked }; // asked: refuse instead of tightening

enum class Why : std::uint8_t {
    as_asked,
    nothing_asked,  // "posture: default (no annotation received)"
    policy_ceiling, // an annotation asked for more than it may
    empty_allow,    // an allow list with nothing in it is "nothing"
    cannot_isolate, // the probes' answers: this host could not
    cannot_relay,
    cannot_filter,
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

// The one sentence every output uses, pinned by tests/schema/sentences.json:
//   Network: off — confined: no egress
//   Network: off — confined: egress sealed to the run's model broker
//   Network: off — confined: egress relayed to model, search
//   Network: open — not confined
// `endpoints` are the names in order; a single one called "model" is "the run's model broker".
// `detail` is what a tightening says in parentheses, empty when as asked.
std::string sentence_for(Egress asked, Posture holds, const std::vector<std::string>& endpoints,
                         std::string_view detail);

// The least confined of several: how a pod or a job is summed up.
Posture fold(const std::vector<Posture>& postures);

} // namespace anchorhold
