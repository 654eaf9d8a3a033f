// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/words/command_line.hpp"

namespace anchorhold::words {

Invocation read_runc_words(const std::vector<std::string>& rest);

} // namespace anchorhold::words
