// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/plan.hpp"
#include "shim/config/splice.hpp"

#include <string>

namespace anchorhold::edit {

// linux: namespaces, resources.pids.limit, sysctl, seccomp; and why the profile of the last could
// not be rewritten, or nothing.
Result<std::string> edit_linux(json::View config, const Plan& plan, config::Edits& edits);

} // namespace anchorhold::edit
