// SPDX-License-Identifier: Apache-2.0
// The runtime: it is found by absolute path and executed in our place.
#pragma once

#include "schema/policy.hpp"
#include "shim/words/command_line.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace anchorhold::runtime {

// Returns the runtime's path: that of --ah-runtime, else the policy's, else the first fit one of
// /usr/sbin/runc, /usr/bin/runc, /usr/sbin/crun, /usr/bin/crun. A fit one is a regular executable
// file that nobody but root (or our euid) can replace and that is not this program by device:inode.
// A runtime that was named and is not fit is an error and never passed over: invalid_request for
// the option, invalid_policy for the policy, delegate_failed for the list.
Result<std::string> find_runtime(const std::optional<std::string>& option,
                                 const std::optional<std::string>& from_policy);
// Returns the first fit path of a list. Code delegate_failed.
Result<std::string> first_fit(const std::vector<std::string>& paths);

// Returns argv for execve(2). It points into both arguments and is valid as long as they are.
std::vector<char*> argument_vector(const std::string& path, const std::vector<std::string>& rest);

// Executes the runtime with our environment and its path as argv[0]. Returns only on an error.
Error exec_runtime(const std::string& path, const std::vector<std::string>& rest);

} // namespace anchorhold::runtime
