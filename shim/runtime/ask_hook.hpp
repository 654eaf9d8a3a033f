// SPDX-License-Identifier: Apache-2.0
// What the shim has the hook do, because it knows no netlink itself.
#pragma once

#include "hooks/state/probe.hpp"
#include "hooks/state/teardown.hpp"

#include <string>
#include <vector>

namespace anchorhold::runtime {

// can_seal and can_filter; a hook that cannot say is two noes.
std::vector<state::ProbeAnswer> ask_network(const std::string& hook);

// An Unplug: `record` is what the hook left of it in the run's folder.
Status unplug_by_hook(const state::StateDir& state, Record& record);

// What the kernel holds of a live sealed or filtered run is compared with the plan and, where it
// was taken away, restored; the record says so.
Status hold_by_hook(const state::StateDir& state, const Record& record);

// All of those; a line "KEY: sentence" for each that does not hold.
std::vector<std::string> hold_all_by_hook(const state::StateDir& state);

// What no run has a folder for is taken away; a word for each.
Result<std::vector<std::string>> sweep_by_hook(const std::string& state_path);

// The record is brought up to date with what was refused so far.
Status note_denied_by_hook(const state::StateDir& state, const Record& record);

} // namespace anchorhold::runtime
