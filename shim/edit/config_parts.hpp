// SPDX-License-Identifier: Apache-2.0
// The parts of edit_config(), one per section of config.json.
#pragma once

#include "schema/plan.hpp"
#include "shim/config/splice.hpp"

#include <string>
#include <vector>

namespace anchorhold {

// linux: namespaces, resources.pids.limit, sysctl, seccomp; and why the profile of the last could
// not be rewritten, or nothing.
Result<std::string> edit_linux(json::View config, const Plan& plan, Edits& edits);
// hooks: ours in, Docker's out; returns the paths of what was taken out.
Result<std::vector<std::string>> edit_hooks(json::View config, const Plan& plan, Edits& edits);
// mounts: ours behind all others, so that none of them can cover one.
Status edit_mounts(json::View config, const Plan& plan, Edits& edits);

// A mount's destination as the kernel will walk it from the root: absolute, no "", ".", "..".
std::string normal_path(std::string_view path);

} // namespace anchorhold
