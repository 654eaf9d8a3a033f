// SPDX-License-Identifier: Apache-2.0
// Removing what a run left, from its key alone, any number of times (DESIGN 3.13 to 3.15).
//
// The owner of a planned or failed record is its creator, of an enforced one its init; while the
// owner lives nothing is removed. Tables inside a container's namespace are never deleted: they die
// with it. A record that cannot be read is left alone: a newer version may have written it.
#pragma once

#include "hooks/state/state_dir.hpp"

#include <string>
#include <vector>

namespace anchorhold::state {

// Takes away what a record names in the kernel, and notes in it what was refused to the run; the
// caller holds the run's lock. The hook does it itself, the shim, which knows no netlink, asks the
// hook. Idempotent.
using Unplug = Status (*)(const StateDir& state, Record& record);

enum class TeardownOutcome : std::uint8_t { nothing_there, still_owned, foreign, removed };
// foreign: another boot's pid namespace or another generation than asked for.

// `generation` empty: whatever stands there. Takes the run's lock. Without `unplug` a run that has
// a network is kept, with an error.
Result<TeardownOutcome> teardown(const StateDir& state, const RunKey& key,
                                 std::string_view generation = {}, Unplug unplug = nullptr);
// Marks the record failed with its code and reason, then removes the run whatever its owner:
// the creator's own word after a failed create.
Status abandon(const StateDir& state, const RunKey& key, std::string_view generation,
               const Error& reason, Unplug unplug = nullptr);

struct SweepResult {
    std::vector<std::string> removed; // keys
    std::vector<std::string> failed;  // "KEY: sentence"
    std::size_t looked_at = 0;
};
enum class Sweep : std::uint8_t { dry_run, remove };
// At most `limit` runs are looked at, 0: all. Never waits for a lock: a held lock is a live owner.
Result<SweepResult> gc(const StateDir& state, Sweep mode, std::size_t limit = 0,
                       Unplug unplug = nullptr);

} // namespace anchorhold::state
