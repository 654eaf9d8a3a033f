// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/words/command_line.hpp"

namespace anchorhold::words {

// Reads `rest` as runc would; called by read_invocation.
Invocation read_runc_words(const std::vector<std::string>& rest);

} // namespace anchorhold::words
