// SPDX-License-Identifier: Apache-2.0
#include "shim/command_lookup.hpp"

#include "schema/unique_fd.hpp"
#include "shim/config_view.hpp"

#include <cerrno>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace anchorhold {
namespace {

constexpr std::string_view path_variable = "PATH=";

enum class Found : std::uint8_t { nothing, not_executable, something };

UniqueFd open_below(int root, const std::string& path, std::uint64_t flags)
{
    open_how how = {};
    how.flags = flags | O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    return UniqueFd(static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
}

// Who is not in its pid namespace finds no self in that /proc. So what leads there, and any link
// that leads nowhere, is left to the start.
Found look_at(int root, const std::string& path)
{
    if (path.starts_with("/proc/"))
        return Found::something;
    const UniqueFd fd = open_below(root, path, 0);
    if (!fd && errno != ENOENT && errno != ENOTDIR)
        return Found::something;
    if (!fd)
        return open_below(root, path, O_NOFOLLOW) ? Found::something : Found::nothing;
    struct statx file = {};
    // A server that does not answer would be waited for.
    if (::statx(fd.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_MODE, &file) !=
        0)
        return Found::something;
    constexpr unsigned any_execute = S_IXUSR | S_IXGRP | S_IXOTH;
    return S_ISREG(file.stx_mode) && (file.stx_mode & any_execute) != 0 ? Found::something
                                                                        : Found::not_executable;
}

std::vector<std::string> split_path(std::string_view path)
{
    std::vector<std::string> directories;
    for (;;) {
        const std::size_t colon = path.find(':');
        directories.emplace_back(colon == 0 || path.empty() ? "." : path.substr(0, colon));
        if (colon == std::string_view::npos)
            return directories;
        path.remove_prefix(colon + 1);
    }
}

} // namespace

Result<CommandLookup> command_lookup(json::View config, std::size_t relay_words)
{
    CommandLookup command;
    const auto process = member(config, "process");
    AH_TRY(command.cwd, text_of(process, "cwd"), "");
    AH_TRY(const auto args, elements(process, "args"), "");
    if (args.size() > relay_words) {
        AH_TRY(command.name, args[relay_words].bytes(), "");
    }
    AH_TRY(const auto variables, elements(process, "env"), "");
    for (const json::View variable : variables) {
        AH_TRY(const std::string text, variable.bytes(), "");
        if (text.size() > path_variable.size() && text.starts_with(path_variable) &&
            command.directories.empty())
            command.directories = split_path(text.substr(path_variable.size()));
    }
    return command;
}

std::optional<std::string> missing_command(int root, const CommandLookup& command)
{
    const auto below_cwd = [&command](const std::string& path) {
        return path.starts_with('/') ? path : command.cwd + "/" + path;
    };
    const std::string what = "exec: \"" + printable(command.name) + "\": ";
    if (command.name.find('/') != std::string::npos) {
        switch (look_at(root, below_cwd(command.name))) {
        case Found::something: return std::nullopt;
        case Found::nothing:
            return what + "stat " + printable(command.name) + ": no such file or directory";
        case Found::not_executable: return what + "permission denied";
        }
    }
    bool is_there = false;
    for (const std::string& directory : command.directories) {
        if (command.name.empty())
            break;
        const Found found = look_at(root, below_cwd(directory + "/" + command.name));
        if (found == Found::something)
            return std::nullopt;
        is_there = is_there || found == Found::not_executable;
    }
    return what + (is_there ? "permission denied" : "executable file not found in $PATH");
}

} // namespace anchorhold
