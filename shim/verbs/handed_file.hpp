// SPDX-License-Identifier: Apache-2.0
// A file that an engine hands over with a command: what is judged is a copy of it, and the runtime
// gets the edited copy. The engine's own file is never changed.
#pragma once

#include "schema/error.hpp"

#include <string>
#include <string_view>

namespace anchorhold::verbs {

// Reads the file as a runtime does: a link is followed, and a pipe is waited for. /proc/self/fd/N
// is such a link. Refuses (invalid_request) more than 16 MiB. `what` names it: "the process".
Result<std::string> read_handed(const std::string& path, std::string_view what);

// Reads standard input to its end, in the same way.
Result<std::string> read_standard_input(std::string_view what);

// Writes the text into a sealed file in memory that stays open across execve(2). Its descriptor
// lies above those that are `handed` to the container. Returns its path.
Result<std::string> hand_over(const std::string& text, unsigned handed);

} // namespace anchorhold::verbs
