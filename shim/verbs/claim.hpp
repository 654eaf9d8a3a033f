// SPDX-License-Identifier: Apache-2.0
// A run's place in the state directory, before its record is written.
#pragma once

#include "shim/prepare/prepare.hpp"

namespace anchorhold::verbs {

// Takes the run's lock, and clears away what an earlier run of this id left. Refuses
// (invalid_request) while a run of this id lives.
Result<state::RunLock> take_id(const state::StateDir& state, const RunKey& key);

// Writes the files of ours that the container gets to see: resolv.conf, hosts and the notice. The
// run's folder is there already.
Status write_inside(const state::StateDir& state, const RunKey& key,
                    const prepare::PreparedRun& run, const Record& record);

} // namespace anchorhold::verbs
