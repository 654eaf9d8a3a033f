// SPDX-License-Identifier: Apache-2.0
// Tells an engine's user why something was refused: exactly one line in the engine's --log, in its
// format, and the same line on stderr. Nothing is written on success.
#pragma once

#include "shim/words/command_line.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace anchorhold {

// The log of the runtime.
struct LogTarget {
    // The file; nothing when the runtime logs to stderr, or with crun to journald: or syslog:.
    std::optional<std::string> path;
    words::LogFormat format = words::LogFormat::text;
};
// Returns the log that the command line names.
LogTarget log_target(const words::Invocation& invocation);

// Returns "anchorhold: create 4f2a: SENTENCE (CODE)": one line of at most 1000 bytes, in which text
// from outside is escaped.
std::string error_line(const words::Invocation& invocation, const Error& error);
// Returns the line as runc would write it in that format, with the newline. `seconds` are Unix
// time.
std::string log_record(words::LogFormat format, std::string_view line, std::int64_t seconds);
// Appends bytes to the log, or a line as a record. Returns nothing, because a log that cannot be
// written never decides whether a container is created.
void append_bytes(const LogTarget& target, std::string_view bytes);
void append_to_log(const LogTarget& target, std::string_view line);

} // namespace anchorhold
