// SPDX-License-Identifier: Apache-2.0
// The words for what was asked, what holds, by which technique and why. Enumerators go from
// tightest to loosest, and a fallback may only move towards the front. Zero values are the safe
// ones.
#pragma once

#include "schema/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold {

enum class Egress : std::uint8_t {
    off,       // nothing but the endpoints
    allowlist, // the destinations of a list
    open,      // everything
};
enum class Posture : std::uint8_t {
    severed,  // nothing outside is reached
    relayed,  // only endpoints, through the relay
    sealed,   // only endpoints, one of them at least through a link of the run's own
    filtered, // only the destinations of the allow list, and endpoints
    open,     // not confined
};
enum class Technique : std::uint8_t {
    none,
    relay,    // a program inside the container that forwards to unix sockets
    gate,     // a program outside that answers names and dials
    veth,     // a link of the run's own, and nftables
    in_place, // nftables in the namespace that the engine made
    pod,      // the network of another run, which holds the pod's
};
enum class Require : std::uint8_t {
    best,  // tighten where what was asked cannot be had
    asked, // refuse instead of tightening
};

enum class Why : std::uint8_t {
    as_asked,
    nothing_asked,  // no annotation of ours and no profile was chosen
    policy_ceiling, // an annotation asked for more than it may
    empty_allow,    // an allow list without an entry means nothing is allowed
    cannot_isolate, // the probes found that this host cannot isolate
    cannot_relay,   // the same for the relay
    cannot_filter,  // the same for filtering
    no_udp,         // the gate serves the list, and leaves its UDP rules out
    pod_has_less,   // a container asked for more than the network of its pod has
};

// Returns the word of annotations, policy and record: "off", "severed", "relay", "policy_ceiling".
std::string_view word_for(Egress egress);
std::string_view word_for(Posture posture);
std::string_view word_for(Technique technique); // "in-place"
std::string_view word_for(Why why);
std::optional<Egress> egress_from(std::string_view word);
std::optional<Posture> posture_from(std::string_view word);
std::optional<Technique> technique_from(std::string_view word);
std::optional<Why> why_from(std::string_view word);

// The facts that a sentence tells about a run.
struct Outcome {
    Egress asked = Egress::off;
    Posture holds = Posture::severed;
    Why why = Why::as_asked;
    std::vector<std::string> endpoints; // names, in order
    std::size_t destinations = 0;       // rules of the allow list in force that lead somewhere
    std::string detail;                 // more about why it is tighter; printed in parentheses
};

// Returns the one sentence that every output uses. tests/schema/sentences.json pins its text:
//   Network: off — confined: no egress
//   Network: off — confined: egress sealed to the run's model broker
//   Network: off — confined: egress relayed to model, search
//   Network: open — severed: the policy permits no more
// A single endpoint called "model" is the run's model broker: nothing else is reachable, however
// the bytes travel. decide.hpp has the form for a Request and its Decision.
std::string sentence_for(const Outcome& outcome);

// Returns the least confined posture of several, which stands for a pod or a job as a whole.
Posture fold(const std::vector<Posture>& postures);

} // namespace anchorhold
