// SPDX-License-Identifier: Apache-2.0
// What the table in a filtered run's namespace remembers of what it refused. It ends with the
// table, which is loaded anew whenever the host's addresses change; the record goes on.
#pragma once

#include "schema/record.hpp"

namespace anchorhold::rules {

struct DeniedSet {
    std::vector<Denied> denied;
    bool full = false;         // then what came later is not in it
    std::uint64_t packets = 0; // that were refused since it was loaded
};

constexpr std::size_t most_denied = 4096; // of a record; then the oldest go

// Adds it to the record, each destination once, with the time of its last attempt. What the same
// table was seen to remember before makes no difference.
void add_denied(Record& record, const DeniedSet& seen);
// The table was replaced; what the next one counts comes on top.
void begin_denied_anew(Record& record);

} // namespace anchorhold::rules
