// SPDX-License-Identifier: Apache-2.0
// Answers that stand, and when they do not: another boot, another relay, another binary of ours, or
// a "no" that is a minute old. One prober at a time: the others take the standing answer however
// old, and wait only where there is none.
#pragma once

#include "hooks/state/probe.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace anchorhold::state {

struct ProbeKey { // what was asked, and about which files
    std::string boot;
    std::string relay;
    std::string own;
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
Result<std::vector<ProbeAnswer>> answer(const StateDir& state, const ProbeQuestion& question,
                                        Freshness freshness);

} // namespace anchorhold::state
