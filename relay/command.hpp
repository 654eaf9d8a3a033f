// SPDX-License-Identifier: Apache-2.0
// The execution of the command: found in the container's PATH as runc finds it, with the
// environment byte for byte, except LISTEN_PID.
#pragma once

#include "relay/failure.hpp"

#include <limits.h>
#include <sys/types.h>

namespace anchorhold::relay {

// Joins the next element of a PATH with `name`, and moves `path` on, to nullptr after the last. An
// empty element is the working directory. Returns false when the name becomes too long.
bool next_candidate(const char*& path, const char* name, char (&candidate)[PATH_MAX]);

// Changes the process that LISTEN_PID names from `from` to `to`. Descriptors are meant for the
// process that it names (sd_listen_fds(3)). The entry of `environment` then points to
// `replacement`, which must live as long.
void rename_listen_pid(char** environment, pid_t from, pid_t to, char (&replacement)[40]);

// Executes the command, and returns only if that failed: 127 for a command that is not there, 126
// for one that cannot run. `why` gets runc's words, because engines tell the two cases apart by
// them. No shell is tried on ENOEXEC. A file in PATH that may not be executed is passed over, and
// reported if no other is found.
int execute(char** command, char** environment, Line& why);

} // namespace anchorhold::relay
