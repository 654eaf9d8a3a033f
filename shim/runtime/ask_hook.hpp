// SPDX-License-Identifier: Apache-2.0
// The work that the shim has anchorhold-hook do, because the shim itself knows no netlink.
#pragma once

#include "hooks/state/probe.hpp"
#include "hooks/state/teardown.hpp"

#include <string>
#include <vector>

namespace anchorhold::runtime {

// Returns the answers can_seal, can_filter and can_gate. They are unknown when the hook cannot be
// asked.
std::vector<state::ProbeAnswer> ask_network(const std::string& hook);

// Takes the run's network away; it has the form of an Unplug. Afterwards `record` is what the hook
// left in the run's folder.
Status unplug_by_hook(const state::StateDir& state, Record& record);

// Has one hook compare what the kernel holds of all live sealed and filtered runs with their plans.
// It restores what was taken away, and writes down in the records what it found. Returns a line
// "KEY: sentence" for each run that does not hold.
std::vector<std::string> restore_all_by_hook(const state::StateDir& state);

// Removes what belongs to no run that has a folder. Returns a line for each thing removed.
Result<std::vector<std::string>> sweep_by_hook(const std::string& state_path);

// Brings the record up to date with what the kernel has denied so far.
Status note_denied_by_hook(const state::StateDir& state, const Record& record);

} // namespace anchorhold::runtime
