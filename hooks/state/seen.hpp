// SPDX-License-Identifier: Apache-2.0
// A record says what was verified once. This looks at what of it still stands, without netlink, for
// those who show a record.
#pragma once

#include "schema/record.hpp"

namespace anchorhold::state {

constexpr std::string_view as_recorded = "as recorded";

// Returns what is to be seen of a run that has not ended: `as_recorded`, or in which way it is not
// so: its process or its link is gone, it is of an earlier boot, or it cannot be looked at from
// here. Whether tables stand is not looked at; gc does that.
std::string look_at_run(const Record& record);

// Fills in `seen` and `seen_at`. Does nothing for a run that has ended.
void note_seen(Record& record);

} // namespace anchorhold::state
