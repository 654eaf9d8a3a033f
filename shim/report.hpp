// SPDX-License-Identifier: Apache-2.0
// How an engine's user gets to read why (DESIGN 9): exactly one line in the engine's --log, in its
// format, and the same line on stderr; nothing on success.
#pragma once

#include "shim/words/command_line.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace anchorhold {

struct LogTarget {
    std::optional<std::string> path; // nothing: stderr, or crun's journald: and syslog:
    words::LogFormat format = words::LogFormat::text;
};
LogTarget log_target(const words::Invocation& invocation);

// "anchorhold: create 4f2a: SENTENCE (CODE)", one line, under 1 KiB, outside text escaped.
std::string error_line(const words::Invocation& invocation, const Error& error);
// The line as runc would write it in that format, newline included.
std::string log_record(words::LogFormat format, std::string_view line, std::int64_t seconds);
// Appends bytes, or a line as a record; a log that cannot be written never decides admission, so
// nothing is returned.
void append_bytes(const LogTarget& target, std::string_view bytes);
void append_to_log(const LogTarget& target, std::string_view line);

} // namespace anchorhold
