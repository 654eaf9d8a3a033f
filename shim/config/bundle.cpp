// SPDX-License-Identifier: Apache-2.0
#include "shim/config/bundle.hpp"

#include "hooks/state/original.hpp"
#include "schema/json/json.hpp"

#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace anchorhold::config {
namespace {

bool is_same_file(const UniqueFd& one, const UniqueFd& other)
{
    struct stat first = {};
    struct stat second = {};
    return ::fstat(one.get(), &first) == 0 && ::fstat(other.get(), &second) == 0 &&
           first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

// Returns the directory's absolute path. Refuses (invalid_request) when it is no longer there.
Result<std::string> resolved_path(const UniqueFd& directory)
{
    const std::string link = "/proc/self/fd/" + std::to_string(directory.get());
    std::string path(PATH_MAX, '\0');
    const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
    if (length < 0)
        return fail_errno("resolve its path", errno, Code::invalid_request);
    path.resize(static_cast<std::size_t>(length));
    const UniqueFd named(::open(path.c_str(), O_PATH | O_CLOEXEC));
    // The name of a directory that was removed or renamed meanwhile leads elsewhere.
    if (!is_same_file(directory, named))
        return fail(Code::invalid_request, "it is no longer at " + in_quotes(path));
    return path;
}

Status check_readable(const struct stat& file)
{
    if (!S_ISREG(file.st_mode))
        return fail(Code::invalid_request, "it is no regular file");
    if (static_cast<std::size_t>(file.st_size) > json::Limits().bytes) {
        return fail(Code::invalid_request, std::to_string(file.st_size) + " bytes, more than the " +
                                               std::to_string(json::Limits().bytes) +
                                               " that are read");
    }
    return {};
}

Result<std::string> read_all(int file, std::size_t size)
{
    std::string text(size, '\0');
    std::size_t done = 0;
    while (done < size) {
        const ssize_t got = ::read(file, text.data() + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_errno("read it", errno, Code::invalid_request);
        if (got == 0)
            return fail(Code::invalid_request, "it shrank while it was read");
        done += static_cast<std::size_t>(got);
    }
    return text;
}

} // namespace

Result<Bundle> Bundle::open(const std::string& path)
{
    UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory)
        return fail_errno(in_quotes(path), errno, Code::invalid_request);
    AH_TRY(std::string resolved, resolved_path(directory), in_quotes(path));
    return Bundle(std::move(directory), std::move(resolved));
}

bool Bundle::is(const UniqueFd& directory) const
{
    return is_same_file(directory_, directory);
}

Result<std::string> Bundle::read_config() const
{
    const std::string name = in_quotes(path_ + "/config.json");
    // O_NONBLOCK: a FIFO of that name must not hold us up before it is refused.
    const UniqueFd file(
        ::openat(directory_.get(), "config.json", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    struct stat status = {};
    if (!file || ::fstat(file.get(), &status) != 0)
        return fail_errno(name, errno, Code::invalid_request);
    AH_CHECK(check_readable(status), name);
    AH_TRY(std::string text, read_all(file.get(), static_cast<std::size_t>(status.st_size)), name);
    return text;
}

Status Bundle::check_config() const
{
    const std::string name = in_quotes(path_ + "/config.json");
    struct stat file = {};
    if (::fstatat(directory_.get(), "config.json", &file, AT_SYMLINK_NOFOLLOW) != 0)
        return fail_errno(name, errno, Code::invalid_request);
    if (!S_ISREG(file.st_mode))
        return fail(Code::invalid_request, name + ": it is a symbolic link");
    if (file.st_uid != 0 && file.st_uid != ::geteuid()) {
        return fail(Code::invalid_request, name + ": it belongs to uid " +
                                               std::to_string(file.st_uid) + "; chown it to root");
    }
    if ((file.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return fail(Code::invalid_request,
                    name + ": it can be written by others than root; chmod go-w it");
    }
    return {};
}

Result<files::FileLock> Bundle::lock(const state::StateDir& state) const
{
    return state::lock_bundle(state, directory_.get());
}

Status Bundle::keep_config(const Record& record) const
{
    return state::keep_beside(directory_.get(), record);
}

Result<bool> Bundle::restore_config(std::string_view mark) const
{
    return state::restore_unrecorded(directory_.get(), mark);
}

Status Bundle::write_config(const std::string& original, const std::string& text) const
{
    return state::replace_config(directory_.get(), original, text);
}

} // namespace anchorhold::config
