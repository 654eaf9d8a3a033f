// SPDX-License-Identifier: Apache-2.0
#include "hooks/files/whole_file.hpp"

#include "schema/unique_fd.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace anchorhold::files {
namespace {

Status write_all(int fd, std::string_view text, const std::string& path)
{
    while (!text.empty()) {
        const ssize_t written = ::write(fd, text.data(), text.size());
        if (written < 0 && errno != EINTR)
            return fail_errno("write " + path, errno);
        if (written > 0)
            text.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
}

Status write_new(const std::string& path, std::string_view text, mode_t mode)
{
    const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
    const UniqueFd file(::open(path.c_str(), flags, mode));
    if (!file)
        return fail_errno("create " + path, errno);
    if (::fchmod(file.get(), mode) != 0) // the caller's umask may have taken bits away
        return fail_errno("set the mode of " + path, errno);
    AH_CHECK(write_all(file.get(), text, path), "fill the new file");
    if (::fsync(file.get()) != 0)
        return fail_errno("sync " + path, errno);
    return {};
}

} // namespace

Result<std::optional<std::string>> read_file(const std::string& path, std::size_t limit)
{
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file && errno == ENOENT)
        return std::nullopt;
    if (!file)
        return fail_errno("open " + path, errno);
    return read_all(file.get(), limit, path);
}

Result<std::string> read_all(int fd, std::size_t limit, const std::string& path)
{
    std::string text;
    std::array<char, 4096> part;
    for (;;) {
        const ssize_t got = ::read(fd, part.data(), part.size());
        if (got < 0 && errno != EINTR)
            return fail_errno("read " + path, errno);
        if (got == 0)
            return text;
        if (got > 0)
            text.append(part.data(), static_cast<std::size_t>(got));
        if (text.size() > limit)
            return fail_errno("read " + path, EFBIG);
    }
}

Status replace_file(const std::string& path, std::string_view text, mode_t mode)
{
    return replace_file_by(path + ".new", path, text, mode);
}

Status replace_file_by(const std::string& fresh, const std::string& path, std::string_view text,
                       mode_t mode)
{
    AH_CHECK(write_new(fresh, text, mode), "replace " + path); // one that a crash left is truncated
    if (::rename(fresh.c_str(), path.c_str()) == 0)
        return {};
    const int number = errno;
    if (number == EXDEV)
        ::unlink(fresh.c_str());
    return fail_errno("rename " + fresh, number);
}

} // namespace anchorhold::files
