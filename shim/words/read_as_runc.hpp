// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/words/command_line.hpp"

namespace anchorhold::words {

// Reads `rest` as runc would; called by read_invocation.
Invocation read_as_runc(const std::vector<std::string>& rest);

} // namespace anchorhold::words
