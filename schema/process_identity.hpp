// SPDX-License-Identifier: Apache-2.0
// Which process is meant: a pid is used again, a pid with its start time is not.
#pragma once

#include <cstdint>

namespace anchorhold {

struct ProcessIdentity {     // a pid means nothing without its start time (proc(5), stat field 22)
    std::int64_t pid = 0;    // 0: none yet
    std::uint64_t start = 0; // clock ticks after boot
    friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

} // namespace anchorhold
