// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/plan.hpp"
#include "shim/config/splice.hpp"

#include <string>
#include <vector>

namespace anchorhold::edit {

// Edits `hooks`: puts our hooks in and takes Docker's out. Returns the paths of those taken out.
Result<std::vector<std::string>> edit_hooks(json::View config, const Plan& plan,
                                            config::Edits& edits);

} // namespace anchorhold::edit
