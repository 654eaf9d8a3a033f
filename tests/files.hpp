// SPDX-License-Identifier: Apache-2.0
// Fixtures of the source tree, read whole.
#pragma once

#include <string>
#include <string_view>

namespace anchorhold {

// `path` from the root of the source tree; fails the test when it cannot be read.
std::string source_file(std::string_view path);

} // namespace anchorhold
