// SPDX-License-Identifier: Apache-2.0
// The runtime below: found by absolute path, executed in our place, or forked and waited for.
#pragma once

#include "schema/policy.hpp"
#include "shim/command_line.hpp"

#include <optional>
#include <string>
#include <vector>

namespace anchorhold {

// --ah-runtime, the policy's, else the first of /usr/sbin/runc, /usr/bin/runc, /usr/sbin/crun,
// /usr/bin/crun that is fit: a regular executable, root's (or the outer root of our user
// namespace), not writable by others, not ourselves by device:inode.
Result<std::string> find_delegate(const std::optional<std::string>& option,
                                  const std::optional<std::string>& from_policy);

// execve(2) with our environment, argv[0] the delegate's path. Returns only an error.
Error exec_delegate(const std::string& path, const std::vector<std::string>& rest);

// Forks, forwards signals (not a terminal's own, SI_KERNEL), gives the child PDEATHSIG and a
// LISTEN_PID of its own, waits. The exit status as a shell would report it: 0 to 255, 128 + signal.
Result<int> run_delegate(const std::string& path, const std::vector<std::string>& rest);

} // namespace anchorhold
