// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/error.hpp"
#include "schema/unique_fd.hpp"

#include <string>
#include <string_view>

namespace anchorhold::files {

// Opens (O_PATH) what lies at an absolute path. Refuses a path that is not absolute, and one of
// which anybody but root (or our euid) can write a component. `what` begins the error's sentence,
// and `code` becomes its code. What is then read through the descriptor is what was judged.
Result<UniqueFd> open_owned_path(const std::string& path, std::string_view what, Code code);
// Judges the same for what another program will open by that path.
Status check_owned_path(const std::string& path, std::string_view what, Code code);

} // namespace anchorhold::files
