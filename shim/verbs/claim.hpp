// SPDX-License-Identifier: Apache-2.0
// A run's place in the state directory, before its record is written.
#pragma once

#include "shim/prepare/prepare.hpp"

namespace anchorhold {

// Under the run's lock, with what an earlier run of this id left cleared away. Refused
// (invalid_request) while a run of this id lives.
Result<RunLock> take_id(const StateDir& state, const RunKey& key);

// What the container gets to see of us: resolv.conf and hosts. make_run comes first.
Status write_inside(const StateDir& state, const RunKey& key, const Prepared& prepared);

} // namespace anchorhold
