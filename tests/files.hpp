// SPDX-License-Identifier: Apache-2.0
// The files of the source tree, read whole.
#pragma once

#include <string>
#include <string_view>

namespace anchorhold {

// Returns the content of the file at `path`, from the root of the source tree. Fails the test when
// it cannot be read.
std::string source_file(std::string_view path);

} // namespace anchorhold
