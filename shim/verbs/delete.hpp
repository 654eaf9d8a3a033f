// SPDX-License-Identifier: Apache-2.0
// delete of a run of ours, and the forced delete of a container that must not start.
#pragma once

#include "shim/session.hpp"

namespace anchorhold::verbs {

// Deletes with the runtime, then removes what we made. Returns the exit status, or the error to
// report.
Result<int> delete_container(const Session& session);

// Says whether the container still waits for its start. Both runtimes keep exec.fifo until then
// (runc, libcontainer/container_linux.go; crun, status.c).
bool waits_to_start(const Session& session);
// Runs `delete --force` with the engine's global options but without its log. It is tried once more
// if it fails, because a cgroup may still be busy. Returns false when that failed too; the rest is
// left to `gc` and the engine.
bool delete_by_force(const Session& session);

} // namespace anchorhold::verbs
