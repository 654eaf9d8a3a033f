// SPDX-License-Identifier: Apache-2.0
// The command as execve(2) sees it: found in the container's PATH as runc finds it, with the
// environment byte for byte except LISTEN_PID.
#pragma once

#include "relay/failure.hpp"

#include <limits.h>
#include <sys/types.h>

namespace anchorhold::relay {

// The next element of a PATH joined with `name`; moves `path` on, to nullptr after the last. An
// empty element is the working directory. false: this element makes too long a name.
bool next_candidate(const char*& path, const char* name, char (&candidate)[PATH_MAX]);

// sd_listen_fds(3): descriptors are meant for the process LISTEN_PID names. Where it names `from`,
// the entry of `environment` is replaced by `replacement`, filled in to name `to`.
void rename_listen_pid(char** environment, pid_t from, pid_t to, char (&replacement)[40]);

// Returns only if it could not: 127 for a command that is not there, 126 for one that cannot run,
// with the words runc has for it, by which engines tell the two. No shell is tried on ENOEXEC.
// A file that may not be executed is passed over in PATH, and reported if nothing else is found.
int execute(char** command, char** environment, Line& why);

} // namespace anchorhold::relay
