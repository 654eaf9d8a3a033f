// SPDX-License-Identifier: Apache-2.0
// Removes orphans: links, rules and reservations of ours that no run has a folder for, in this
// network namespace. They are left when somebody emptied the state directory, or a record was lost.
//
// Several state directories may share a network namespace, and a key does not tell which one it is
// of. So two things are left alone, because a process may live behind them:
//
// 1. A link whose other end is in our own namespace, or in one that has a process. Everything with
//    its key is left alone too.
// 2. The address of a guest, if a namespace with a process has that address.
//
// A link that was made in another pid namespace is left, with everything of its key, and named in
// `left`: we cannot see who lives behind it. So is a guest, unless we are in the first pid
// namespace and see every process. What an earlier version made does not say where: a process
// behind it that we do not see is cut off.
#pragma once

#include "hooks/state/teardown.hpp"

#include <string>

namespace anchorhold {

// Removes the orphans. `removed` in the result has keys, then guests' addresses. Leaves a run alone
// whose lock is held: a run that is being made takes its lock first, then makes its folder, then
// its link. The state directory is made only if there is something to remove.
Result<state::SweepResult> sweep_orphans(const std::string& state_path);

} // namespace anchorhold
