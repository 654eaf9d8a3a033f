// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace anchorhold::config {

// Returns a mount's destination as the kernel will walk it from the root: absolute, without "", "."
// and "..". Links are not followed.
std::string normal_path(std::string_view path);

} // namespace anchorhold::config
