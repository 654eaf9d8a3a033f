// SPDX-License-Identifier: Apache-2.0
// The runtime below: found by absolute path, executed in our place, or forked and waited for.
#pragma once

#include "schema/policy.hpp"
#include "shim/words/command_line.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace anchorhold {

// --ah-runtime, the policy's, else the first of /usr/sbin/runc, /usr/bin/runc, /usr/sbin/crun,
// /usr/bin/crun that is fit: a regular executable that nobody but root (or our euid) can replace,
// not ourselves by device:inode. One that was named and is not fit is an error, never passed over.
Result<std::string> find_delegate(const std::optional<std::string>& option,
                                  const std::optional<std::string>& from_policy);
// The same for a given list.
Result<std::string> first_fit(const std::vector<std::string>& paths);

// argv for execve(2), which leaves the words alone; valid as long as both are.
std::vector<char*> argument_vector(const std::string& path, const std::vector<std::string>& rest);

// execve(2) with our environment, argv[0] the delegate's path. Returns only an error.
Error exec_delegate(const std::string& path, const std::vector<std::string>& rest);

// Forks, forwards signals (not a terminal's own, SI_KERNEL), stops when the child is stopped, gives
// the child PDEATHSIG and a LISTEN_PID of its own, waits. The exit status as a shell would report
// it: 0 to 255, 128 + signal.
Result<int> run_delegate(const std::string& path, const std::vector<std::string>& rest);

// The same for purposes of our own: nothing on stdin, and what it prints is caught.
struct Caught {
    int status = 0;
    std::string text; // stdout and stderr
};
constexpr std::size_t most_caught = 4096; // bytes; what is behind is lost
Result<Caught> run_quietly(const std::string& path, const std::vector<std::string>& words,
                           std::size_t most = most_caught);

} // namespace anchorhold
