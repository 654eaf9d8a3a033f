// SPDX-License-Identifier: Apache-2.0
// What of ours stands in this network namespace, or is reserved, though no run has a folder for it:
// the state directory was emptied, or a record was lost (DESIGN 3.15).
//
// Several state directories may share a network namespace, and a key does not tell whose it is. So
// what somebody may still live behind is left alone: a link whose other end is in a namespace that
// has a process, or in our own, with all that bears its key; a guest's address that such a
// namespace has. Processes of a pid namespace that we do not see do not count: one that lives
// behind such a link is cut off. Nothing that is taken away here held anybody who lives.
#pragma once

#include "hooks/state/teardown.hpp"

#include <string>

namespace anchorhold {

// `removed` has keys, then guests' addresses. A run that is being made has its folder before its
// link, and before that its lock: whose lock is held is left alone. The directory is made only if
// there is something to remove.
Result<state::SweepResult> sweep_orphans(const std::string& state_path);

} // namespace anchorhold
