// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/error.hpp"

#include <string>
#include <string_view>

namespace anchorhold::state {

// Refuses an absolute path if anybody but root (or our euid) can write one of its components.
// `what` begins the error's sentence, and `code` becomes its code.
Status check_owned_path(const std::string& path, std::string_view what, Code code);

} // namespace anchorhold::state
