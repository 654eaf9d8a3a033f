// SPDX-License-Identifier: Apache-2.0
// The names that a run asked for and was refused, as the relay or the gate counted them. The relay
// writes with the container's own rights, so its table may hold anything. What is read here is
// bounded, and its names hold no byte that a rule's name cannot hold, but for the question mark.
#pragma once

#include "schema/rules/gate_report.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold {
struct Record;
}

namespace anchorhold::rules {

struct RefusedName {
    std::string name;
    std::uint64_t tries = 0;
    friend bool operator==(const RefusedName&, const RefusedName&) = default;
};

struct RefusedNames {
    std::vector<RefusedName> names; // most tries first
    std::uint64_t others = 0;       // tries of names that found no room
    friend bool operator==(const RefusedNames&, const RefusedNames&) = default;
};

// Puts what the table says into the record. Does nothing when the table says nothing: nobody counts
// there. A name that the run was allowed is left out: who asks for it beside the hosts file is
// refused too, and no rule would change that.
void note_refused(Record& record, std::string_view table);

// Does the same with what the run's gates said, one report each.
void note_refused(Record& record, const std::vector<GateReport>& reports);

// Returns what would allow the name in the run of that record.
std::string remedy_for(const RefusedName& refused, const Record& record);

} // namespace anchorhold::rules
