// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/words/command_line.hpp"

namespace anchorhold::words {

// Reads `rest` as crun would; called by read_invocation.
Invocation read_as_crun(const std::vector<std::string>& rest);

} // namespace anchorhold::words
