// SPDX-License-Identifier: Apache-2.0
// Removes what a run left. The run's key is enough, and it may be called any number of times. The
// shim calls it after `delete`, the poststop hook calls it, and `gc` calls it for every run: any of
// them may be skipped, or run twice.
//
// A planned or failed record is owned by the process that created it. An enforced record is owned
// by the container's first process. While the owner lives, nothing is removed. Tables inside a
// container's namespace are never deleted: they die with the namespace. A run whose record cannot
// be read is removed by its key when no process has its folder mounted: a newer version may have
// written it, and its container may live.
#pragma once

#include "hooks/state/state_dir.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::state {

// Removes what the record names in the kernel, and adds the run's denied connections to the record.
// The caller holds the run's lock. The hook does it itself. The shim has no netlink and asks the
// hook. May be called again.
using Unplug = Status (*)(const StateDir& state, Record& record);

enum class TeardownOutcome : std::uint8_t {
    nothing_there, // the run has no folder
    still_owned,   // the owner lives, so nothing was removed
    foreign,       // the record is of another pid namespace or generation
    removed,
    removed_not_kept, // removed, but its record is not where the policy wants it; the record says
                      // why
};

// Tears the run down under its lock. An empty `generation` means any generation. Without `unplug` a
// run that has a network is kept, and that is an error.
Result<TeardownOutcome> teardown(const StateDir& state, const RunKey& key,
                                 std::string_view generation = {}, Unplug unplug = nullptr);
// Marks the record failed, with the code and sentence of `reason`, and removes the run even though
// its owner lives: the creator itself says so after a failed create.
Status abandon(const StateDir& state, const RunKey& key, std::string_view generation,
               const Error& reason, Unplug unplug = nullptr);

// The generation of a record that stands in for one that could not be read.
constexpr std::string_view no_generation = "0000000000000000";

struct SweepResult {
    std::vector<std::string> removed; // keys
    std::vector<std::string> failed;  // "KEY: sentence"
    std::vector<std::string> left;    // "KEY: sentence"; it cannot be looked at from here
    std::size_t looked_at = 0;
};
enum class Sweep : std::uint8_t { dry_run, remove };
// Tears down every run whose owner is gone. Looks at no more than `limit` runs; 0 means all. Never
// waits for a lock: a run whose lock is held has a live owner.
Result<SweepResult> gc(const StateDir& state, Sweep mode, std::size_t limit = 0,
                       Unplug unplug = nullptr);

} // namespace anchorhold::state
