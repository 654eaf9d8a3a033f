// SPDX-License-Identifier: Apache-2.0
// The report of a run's gate: what it refused. The gate rewrites it about once a second while
// something changes, so a reader may meet half a text, and reads again.
#pragma once

#include "schema/error.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace anchorhold::rules {

// A name that a program inside asked for and no rule lists.
struct DeniedName {
    std::string name;
    std::int64_t count = 0; // how often it was asked for
    std::int64_t last = 0;  // when, in seconds since the epoch
    friend bool operator==(const DeniedName&, const DeniedName&) = default;
};

struct GateReport {
    std::vector<DeniedName> denied; // by name
    std::int64_t others = 0;        // questions for names that are not kept any more
    std::vector<std::pair<std::string, std::int64_t>> resets; // connections, by a word for why
    std::int64_t servfail = 0;                                // look-ups over a bound of ours
    friend bool operator==(const GateReport&, const GateReport&) = default;
};

Result<GateReport> read_gate_report(std::string text);

} // namespace anchorhold::rules
