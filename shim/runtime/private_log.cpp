// SPDX-License-Identifier: Apache-2.0
#include "shim/runtime/private_log.hpp"

#include "schema/json/json.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace anchorhold::runtime {
namespace {

bool is_error_level(std::string_view level)
{
    return level == "error" || level == "fatal" || level == "panic";
}

bool is_error(std::string_view line, words::LogFormat format, words::Flavour flavour)
{
    if (format == words::LogFormat::text) {
        // crun's text log has no level, and by default crun writes nothing but errors.
        return flavour == words::Flavour::crun || line.contains("level=error") ||
               line.contains("level=fatal");
    }
    const auto document = json::Document::parse(std::string(line), Code::delegate_failed);
    const auto level = document ? document->root().find("level") : std::nullopt;
    const auto word = level ? level->string() : Result<std::string>("");
    return word && is_error_level(*word);
}

} // namespace

std::string with_one_error(std::string_view log, words::LogFormat format, words::Flavour flavour,
                           std::string_view silent)
{
    std::string kept;
    std::string error(silent);
    while (!log.empty()) {
        const std::string_view line = log.substr(0, log.find('\n'));
        log.remove_prefix(std::min(line.size() + 1, log.size()));
        const bool bad = is_error(line, format, flavour);
        if (bad)
            error.clear();
        (bad ? error : kept).append(line).append("\n");
    }
    return kept + error;
}

Result<PrivateLog> PrivateLog::open(const Session& session, const std::string& directory)
{
    const Error silence{Code::delegate_failed, 0,
                        session.runtime + " failed without a word in its log; see its stderr"};
    PrivateLog log(session, error_line(session.invocation, silence));
    if (!log.target_.path)
        return log;
    const std::string path = directory + "/log";
    log.file_ =
        UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!log.file_)
        return fail_errno("make " + path, errno);
    log.words_ = words::with_value(session.rest, *session.invocation.last("log"), path);
    return log;
}

std::string PrivateLog::read() const
{
    struct stat file = {};
    if (!file_ || ::fstat(file_.get(), &file) != 0)
        return {};
    std::string text(static_cast<std::size_t>(file.st_size), '\0');
    const ssize_t length = ::pread(file_.get(), text.data(), text.size(), 0);
    text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return text;
}

void PrivateLog::pass_on() const
{
    append_bytes(target_, read());
}

void PrivateLog::pass_on_one_error() const
{
    const std::string silent = log_record(target_.format, silent_, std::time(nullptr));
    append_bytes(target_, with_one_error(read(), target_.format, flavour_, silent));
}

} // namespace anchorhold::runtime
