// SPDX-License-Identifier: Apache-2.0
#include "shim/report.hpp"

#include "schema/json/json.hpp"
#include "schema/unique_fd.hpp"

#include <ctime>
#include <fcntl.h>
#include <unistd.h>

namespace anchorhold {
namespace {

constexpr std::size_t longest_line = 1000; // bytes; without the newline
constexpr std::size_t longest_id = 80;     // bytes of the subcommand, and of the id

std::string rfc3339(std::int64_t seconds)
{
    const std::time_t time = seconds;
    std::tm parts = {};
    ::gmtime_r(&time, &parts);
    char text[32];
    const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return {text, length};
}

// Returns the line as JSON text the way logrus writes it (JSONFormatter): encoding/json also
// escapes what would matter in HTML.
std::string json_text(std::string_view line)
{
    std::string out;
    for (const char byte : json::quote(line)) {
        if (byte == '<') {
            out += "\\u003c";
        } else if (byte == '>') {
            out += "\\u003e";
        } else if (byte == '&') {
            out += "\\u0026";
        } else {
            out += byte;
        }
    }
    return out;
}

// Returns the line in quotes the way logrus writes it (TextFormatter, %q).
std::string go_quoted(std::string_view line)
{
    std::string out = "\"";
    for (const char byte : line) {
        if (byte == '"' || byte == '\\')
            out += '\\';
        out += byte;
    }
    return out + '"';
}

} // namespace

LogTarget log_target(const words::Invocation& invocation)
{
    LogTarget target;
    if (const words::OptionAt* const format = invocation.last("log-format"))
        target.format = format->value == "json" ? words::LogFormat::json : words::LogFormat::text;
    const words::OptionAt* const log = invocation.last("log");
    if (log == nullptr)
        return target;
    std::string_view path = log->value;
    if (invocation.flavour == words::Flavour::crun) {
        // crun's --log is BACKEND:SPECIFIER or a path (crun(1)).
        if (path.starts_with("journald:") || path.starts_with("syslog:"))
            return target;
        if (path.starts_with("file:"))
            path.remove_prefix(5);
    }
    if (!path.empty())
        target.path = path;
    return target;
}

std::string error_line(const words::Invocation& invocation, const Error& error)
{
    std::string line = "anchorhold: ";
    if (!invocation.word.empty()) {
        line += printable(invocation.word, longest_id);
        if (!invocation.operands.empty())
            line += " " + printable(invocation.operands[0], longest_id);
        line += ": ";
    }
    const std::string code = " (" + std::string(name_of(error.code)) + ")";
    // Escaping may make four bytes of one, so the limit is tried against the escaped text.
    const std::size_t room = longest_line - line.size() - code.size();
    std::string what = printable(error.what, room);
    for (std::size_t limit = room; what.size() > room; what = printable(error.what, limit))
        limit -= limit / 4;
    return line + what + code;
}

std::string log_record(words::LogFormat format, std::string_view line, std::int64_t seconds)
{
    if (format == words::LogFormat::json) {
        return R"({"level":"error","msg":)" + json_text(line) + R"(,"time":")" + rfc3339(seconds) +
               "\"}\n";
    }
    return "time=\"" + rfc3339(seconds) + "\" level=error msg=" + go_quoted(line) + "\n";
}

void append_bytes(const LogTarget& target, std::string_view bytes)
{
    if (!target.path || bytes.empty())
        return;
    // O_NONBLOCK: a FIFO that nobody reads must not hold us up.
    const UniqueFd log(::open(target.path->c_str(),
                              O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                              0644));
    if (log && ::write(log.get(), bytes.data(), bytes.size()) < 0)
        return; // a log that cannot be written decides nothing
}

void append_to_log(const LogTarget& target, std::string_view line)
{
    append_bytes(target, log_record(target.format, line, std::time(nullptr)));
}

} // namespace anchorhold
