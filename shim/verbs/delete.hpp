// SPDX-License-Identifier: Apache-2.0
// delete of a run of ours, and what tells that a runtime has one.
#pragma once

#include "shim/session.hpp"

namespace anchorhold::verbs {

// Returns the exit status, or the error to report.
Result<int> delete_container(const Session& session);

// Does the container still wait for its start? Both runtimes keep exec.fifo until then (runc,
// libcontainer/container_linux.go; crun, status.c).
bool waits_to_start(const Session& session);
// `delete --force` with the engine's own global options, but for its log; once more if that fails
// (a cgroup that is still busy). What is left over then is gc's and the engine's: false.
bool delete_by_force(const Session& session);

} // namespace anchorhold::verbs
