// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/error.hpp"

#include <string>

namespace anchorhold::state {

// Returns the absolute path of the anchorhold-gate that belongs to the hook at `hook`: it lies
// beside it, or in a build tree where that is built. Refuses (network_setup_failed) when it is
// missing, cannot be executed, or can be replaced by somebody but root (or our euid).
Result<std::string> find_gate(const std::string& hook);
// Does the same for the program that this process runs, which is the hook.
Result<std::string> find_own_gate();

} // namespace anchorhold::state
