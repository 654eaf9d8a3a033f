// SPDX-License-Identifier: Apache-2.0
// The runtime below: found by absolute path, executed in our place, or forked and waited for.
#pragma once

#include "schema/policy.hpp"
#include "shim/words/command_line.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace anchorhold::runtime {

// --ah-runtime, the policy's, else the first of /usr/sbin/runc, /usr/bin/runc, /usr/sbin/crun,
// /usr/bin/crun that is fit: a regular executable that nobody but root (or our euid) can replace,
// not ourselves by device:inode. One that was named and is not fit is an error, never passed over.
Result<std::string> find_runtime(const std::optional<std::string>& option,
                                 const std::optional<std::string>& from_policy);
// The same for a given list.
Result<std::string> first_fit(const std::vector<std::string>& paths);

// argv for execve(2), which leaves the words alone; valid as long as both are.
std::vector<char*> argument_vector(const std::string& path, const std::vector<std::string>& rest);

// execve(2) with our environment, argv[0] the runtime's path. Returns only an error.
Error exec_runtime(const std::string& path, const std::vector<std::string>& rest);

} // namespace anchorhold::runtime
