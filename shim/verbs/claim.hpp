// SPDX-License-Identifier: Apache-2.0
// A run's place in the state directory, before its record is written.
#pragma once

#include "shim/prepare/seen.hpp"

namespace anchorhold::verbs {

// Under the run's lock, with what an earlier run of this id left cleared away. Refused
// (invalid_request) while a run of this id lives.
Result<state::RunLock> take_id(const state::StateDir& state, const RunKey& key);

// What the container gets to see of us: resolv.conf and hosts. make_run comes first.
Status write_inside(const state::StateDir& state, const RunKey& key, const prepare::SeenRun& seen);

} // namespace anchorhold::verbs
