// SPDX-License-Identifier: Apache-2.0
#include "hooks/files/directory.hpp"

#include <cerrno>
#include <dirent.h>
#include <memory>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace anchorhold::files {

Status check_directory(const std::string& path)
{
    struct stat found = {};
    if (::lstat(path.c_str(), &found) != 0)
        return fail_errno("look at " + path, errno);
    if (!S_ISDIR(found.st_mode))
        return fail_errno("look at " + path, ENOTDIR);
    if (found.st_uid != 0 && found.st_uid != ::geteuid()) {
        return fail(Code::network_setup_failed, path + " belongs to uid " +
                                                    std::to_string(found.st_uid) +
                                                    "; chown it to root");
    }
    if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return fail(Code::network_setup_failed, path + " is writable by others; chmod go-w it");
    return {};
}

Status make_directory(const std::string& path, mode_t mode)
{
    Status standing = check_directory(path);
    if (standing || standing.error().number != ENOENT)
        return standing;
    if (::mkdir(path.c_str(), mode) == 0) {
        if (::chmod(path.c_str(), mode) != 0) // the caller's umask may have taken bits away
            return fail_errno("set the mode of " + path, errno);
    } else if (errno != EEXIST) {
        return fail_errno("make directory " + path, errno);
    }
    return check_directory(path);
}

Result<std::vector<std::string>> names_in(const std::string& path)
{
    struct Closer {
        void operator()(DIR* directory) const noexcept { ::closedir(directory); }
    };
    const std::unique_ptr<DIR, Closer> directory(::opendir(path.c_str()));
    std::vector<std::string> names;
    if (!directory && errno == ENOENT)
        return names;
    if (!directory)
        return fail_errno("open directory " + path, errno);
    errno = 0;
    while (const dirent* entry = ::readdir(directory.get())) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..")
            names.emplace_back(name);
    }
    if (errno != 0)
        return fail_errno("list " + path, errno);
    return names;
}

} // namespace anchorhold::files
