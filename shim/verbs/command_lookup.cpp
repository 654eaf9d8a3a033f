// SPDX-License-Identifier: Apache-2.0
#include "shim/verbs/command_lookup.hpp"

#include "hooks/files/open_inside.hpp"
#include "schema/unique_fd.hpp"
#include "shim/config/view.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace anchorhold::verbs {
namespace {

constexpr std::string_view path_variable = "PATH=";

// The state of a path in the container.
enum class FileKind : std::uint8_t {
    nothing,
    not_executable,
    something, // may be executable; only an attempt can tell
};

UniqueFd open_below(int root, const std::string& path, std::uint64_t flags)
{
    return files::open_inside(root, path, flags | O_PATH);
}

// Says whether the path breaks off at a link that leads nowhere. /proc/self is such a link for
// somebody outside the pid namespace. What lies behind such a link is left to the start.
bool breaks_at_link(int root, const std::string& path)
{
    for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
        const std::string prefix = path.substr(0, end);
        if (!open_below(root, prefix, 0))
            return static_cast<bool>(open_below(root, prefix, O_NOFOLLOW));
        if (end == std::string::npos)
            return false;
    }
}

FileKind look_at(int root, const std::string& path)
{
    const UniqueFd fd = open_below(root, path, 0);
    if (!fd && errno != ENOENT && errno != ENOTDIR)
        return FileKind::something;
    if (!fd)
        return breaks_at_link(root, path) ? FileKind::something : FileKind::nothing;
    struct statx file = {};
    // AT_STATX_DONT_SYNC: a file server that does not answer must not be waited for.
    if (::statx(fd.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_MODE, &file) !=
        0)
        return FileKind::something;
    constexpr unsigned any_execute = S_IXUSR | S_IXGRP | S_IXOTH;
    return S_ISREG(file.stx_mode) && (file.stx_mode & any_execute) != 0 ? FileKind::something
                                                                        : FileKind::not_executable;
}

// Returns the directories of a PATH; an empty entry is ".", and an empty PATH has none.
std::vector<std::string> directories_in(std::string_view path)
{
    std::vector<std::string> directories;
    if (path.empty())
        return directories;
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
    const auto process = config::member(config, "process");
    AH_TRY(command.cwd, config::text_of(process, "cwd"));
    AH_TRY(const auto args, config::elements(process, "args"));
    if (args.size() > relay_words) {
        AH_TRY(command.name, args[relay_words].bytes());
    }
    AH_TRY(const auto variables, config::elements(process, "env"));
    for (const json::View variable : variables) {
        AH_TRY(const std::string text, variable.bytes());
        // The last PATH counts for both runtimes.
        if (text.starts_with(path_variable))
            command.directories = directories_in(text.substr(path_variable.size()));
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
        case FileKind::something: return std::nullopt;
        case FileKind::nothing:
            return what + "stat " + printable(command.name) + ": no such file or directory";
        case FileKind::not_executable: return what + "permission denied";
        }
    }
    bool is_there = false;
    for (const std::string& directory : command.directories) {
        if (command.name.empty())
            break;
        const FileKind found = look_at(root, below_cwd(directory + "/" + command.name));
        if (found == FileKind::something)
            return std::nullopt;
        is_there = is_there || found == FileKind::not_executable;
    }
    return what + (is_there ? "permission denied" : "executable file not found in $PATH");
}

} // namespace anchorhold::verbs
