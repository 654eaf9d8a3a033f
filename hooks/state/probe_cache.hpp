// SPDX-License-Identifier: Apache-2.0
// Keeps the answers of the probes in probes.json. They are asked again after another boot, with
// another relay or hook, with another binary of ours, or when a "no" is a minute old. One process
// probes at a time. The others use the stored answer, however old it is, and wait only where there
// is none.
#pragma once

#include "hooks/state/probe.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace anchorhold::state {

// The key names what the answers are true for: another key, other answers.
struct ProbeKey {
    std::string boot;  // the boot id
    std::string relay; // the identity of the relay's file
    std::string hook;  // the identity of the hook's file
    std::string own;   // the identity of our own binary
    friend bool operator==(const ProbeKey&, const ProbeKey&) = default;
};

struct ProbeAnswers {
    ProbeKey key;
    std::int64_t asked = 0; // seconds of CLOCK_BOOTTIME
    std::vector<ProbeAnswer> answers;
    friend bool operator==(const ProbeAnswers&, const ProbeAnswers&) = default;
};

std::string to_json(const ProbeAnswers& answers);
Result<ProbeAnswers> parse_probe_answers(std::string text);

struct ProbeQuestion {
    ProbeKey key;
    std::int64_t now = 0; // seconds of CLOCK_BOOTTIME
    std::function<std::vector<ProbeAnswer>()> ask;
};
// Returns the stored answers, or asks and stores them. Waits at most 15 s for another process that
// is probing.
Result<std::vector<ProbeAnswer>> answer(const StateDir& state, const ProbeQuestion& question,
                                        Freshness freshness);

} // namespace anchorhold::state
