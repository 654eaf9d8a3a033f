// SPDX-License-Identifier: Apache-2.0
// The denied destinations that the table in a filtered run's namespace remembers. The set ends with
// its table, which is loaded anew whenever the host's addresses change. The record keeps what it
// was told of all of them.
#pragma once

#include "schema/record.hpp"

namespace anchorhold::rules {

struct DeniedSet {
    std::vector<Denied> denied;
    bool full = false;         // destinations denied after that are not in it
    std::uint64_t packets = 0; // packets denied since the table was loaded
};

// Most denied destinations of a record; beyond it the oldest are dropped.
constexpr std::size_t most_denied = 4096;

// Adds the set to the record: each destination once, with the time of its last attempt. Adding what
// the same table kept before a second time changes nothing.
void add_denied(Record& record, const DeniedSet& seen);
// Notes that the table was replaced: what the next table counts is added to the drops so far.
void begin_denied_anew(Record& record);

} // namespace anchorhold::rules
