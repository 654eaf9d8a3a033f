// SPDX-License-Identifier: Apache-2.0
// The identity of a process. The kernel uses a pid again, but not a pid with its start time.
#pragma once

#include <cstdint>

namespace anchorhold {

// A process by pid and start time (proc(5), stat field 22).
struct ProcessIdentity {
    std::int64_t pid = 0;    // 0: no process yet
    std::uint64_t start = 0; // clock ticks after boot
    friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

} // namespace anchorhold
