// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/mount_points.hpp"

#include "hooks/files/open_inside.hpp"
#include "hooks/state/process.hpp"
#include "schema/unique_fd.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <iterator>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

namespace anchorhold::state {
namespace {

// Opens a path below `root` that leads through no link and no other mount.
UniqueFd open_plain(const UniqueFd& root, const std::string& path)
{
    return files::open_inside(root.get(), path, O_PATH, RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
}

UniqueFd open_root(const std::string& path, FileIdentity& identity)
{
    UniqueFd root(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat file = {};
    if (!root || ::fstat(root.get(), &file) != 0)
        return {};
    identity = {.device = file.st_dev, .inode = file.st_ino};
    return root;
}

bool is_empty_file(const UniqueFd& opened)
{
    struct stat file = {};
    return opened && ::fstat(opened.get(), &file) == 0 && S_ISREG(file.st_mode) &&
           file.st_size == 0;
}

// Returns what another run had made in that directory.
std::optional<MountPoints> made_by_another(const StateDir& state, const FileIdentity& root,
                                           std::string_view but)
{
    const std::string named = '"' + root.text() + '"';
    const auto keys = state.runs();
    for (const RunKey& key : keys ? *keys : std::vector<RunKey>()) {
        if (key.text() == but || !state.says(key, named))
            continue;
        const auto read = state.read(key).value_or(std::nullopt);
        if (read && read->mount_points && read->mount_points->identity == root)
            return read->mount_points;
    }
    return std::nullopt;
}

// Says whether some process has the directory at its /etc, or cannot be looked at. It may have a
// mount on the file, which the kernel takes away with the file, in whatever namespace (unlink(2) of
// a mount point elsewhere succeeds).
bool is_somebodys_etc(const UniqueFd& directory)
{
    struct stat ours = {};
    const auto pids = every_process();
    if (!pids || ::fstat(directory.get(), &ours) != 0)
        return true;
    return std::ranges::any_of(*pids, [&ours](pid_t pid) {
        struct stat theirs = {};
        if (pid == 1)
            return false; // it is the host's, and may be one that nobody can look at
        if (::stat(("/proc/" + std::to_string(pid) + "/root/etc").c_str(), &theirs) != 0)
            return errno != ENOENT && errno != ESRCH && errno != ENOTDIR && errno != ELOOP;
        return theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
    });
}

// Says whether one of the paths lies in the directory `path`.
bool is_directory(const std::vector<std::string>& paths, const std::string& path)
{
    return std::ranges::any_of(
        paths, [inside = path + "/"](const std::string& one) { return one.starts_with(inside); });
}

// Removes a file or directory below `root`. Says whether it did: somebody may have put something
// there since.
bool remove_one(const UniqueFd& root, const std::string& path, bool is_file)
{
    const std::size_t slash = path.rfind('/');
    const UniqueFd around = open_plain(root, path.substr(0, slash + 1));
    if (!around)
        return false;
    if (is_file && (!is_empty_file(open_plain(root, path)) || is_somebodys_etc(around)))
        return false;
    return ::unlinkat(around.get(), path.c_str() + slash + 1, is_file ? 0 : AT_REMOVEDIR) == 0;
}

} // namespace

std::optional<MountPoints> missing_mount_points(const std::string& state_path,
                                                const std::string& root,
                                                const std::vector<MissingPath>& files)
{
    MountPoints made{.root = root, .identity = {}, .paths = {}};
    const UniqueFd opened = open_root(root, made.identity);
    if (!opened)
        return std::nullopt;
    std::vector<std::string>& paths = made.paths;
    const auto add = [&paths](const std::string& path) {
        if (std::ranges::find(paths, path) == paths.end())
            paths.push_back(path);
    };
    for (const MissingPath& file : files) {
        for (const std::string& path : file) {
            const UniqueFd there = open_plain(opened, path);
            if (!there && errno == ENOENT) {
                add(path);
                continue;
            }
            const auto state = StateDir::existing(state_path);
            const auto another = is_empty_file(there) && state && *state
                                     ? made_by_another(**state, made.identity, {})
                                     : std::nullopt;
            if (another && std::ranges::find(another->paths, path) != another->paths.end())
                std::ranges::for_each(another->paths, add);
            break;
        }
    }
    std::vector<std::string> ordered;
    for (const bool directories : {false, true}) {
        std::ranges::copy_if(paths, std::back_inserter(ordered), [&](const std::string& path) {
            return is_directory(paths, path) == directories;
        });
    }
    paths = std::move(ordered);
    return paths.empty() ? std::nullopt : std::optional(std::move(made));
}

void remove_mount_points(const StateDir& state, const Record& record)
{
    FileIdentity identity;
    if (!record.mount_points)
        return;
    const std::vector<std::string>& paths = record.mount_points->paths;
    const UniqueFd root = open_root(record.mount_points->root, identity);
    if (!root || identity != record.mount_points->identity ||
        made_by_another(state, identity, record.key))
        return;
    for (const std::string& path : paths) {
        const bool is_file = !is_directory(paths, path);
        if (!remove_one(root, path, is_file) && !is_file)
            return;
    }
}

} // namespace anchorhold::state
