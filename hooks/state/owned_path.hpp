// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/error.hpp"

#include <string>
#include <string_view>

namespace anchorhold::state {

// No component of an absolute path may be writable by anyone but root (or our euid).
Status check_owned_path(const std::string& path, std::string_view what, Code code);

} // namespace anchorhold::state
