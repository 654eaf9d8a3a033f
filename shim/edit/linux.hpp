// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/plan.hpp"
#include "shim/config/splice.hpp"

#include <string>

namespace anchorhold::edit {

// Edits `linux`: namespaces, resources.pids.limit, resources.cpu.shares, sysctl, seccomp. Returns
// why the seccomp profile could not be rewritten; empty: it could, or there was no need.
Result<std::string> edit_linux(json::View config, const Plan& plan, config::Edits& edits);

} // namespace anchorhold::edit
