// SPDX-License-Identifier: Apache-2.0
// createRuntime hooks are called before pivot_root (runtime-spec config.md, "createRuntime Hooks").
// runc 1.1.5 and crun 1.8.1 have made all mounts by then (measured). So the mounts can be looked at
// from outside: in the mount namespace of the container's first process, below the directory that
// will be its root. A mount that is made cannot be exchanged any more.
//
// The root is found by its identity and not by its path: crun mounts it at another path when the
// container's own root user cannot reach it. The table lists it behind the host's mounts, and
// before those below it. A mount below it may show the root once more: a bind mount of the root
// itself, or of a directory above it ("rbind"). So of those at the table's end that show the root,
// the one that all others lie below is it.
#include "hooks/mounted.hpp"

#include "hooks/files/mountinfo.hpp"
#include "hooks/files/open_inside.hpp"
#include "hooks/files/whole_file.hpp"
#include "schema/file_identity.hpp"
#include "schema/unique_fd.hpp"

#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <ranges>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace anchorhold {
namespace {

// Opens the mount at a path below `root`. Returns nullopt if it is not the root of a mount of that
// very file. The file alone is not enough: somebody could rename it to that path in the container,
// and it would pass for a mount that was made elsewhere.
std::optional<UniqueFd> mounted_at(int root, const std::string& path, const FileIdentity& wanted)
{
    UniqueFd fd = files::open_inside(root, path, O_PATH);
    struct statx file = {};
    // AT_STATX_DONT_SYNC: else a file server that does not answer would keep us waiting.
    if (!fd || ::statx(fd.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &file) != 0)
        return std::nullopt;
    const FileIdentity found{.device = ::makedev(file.stx_dev_major, file.stx_dev_minor),
                             .inode = file.stx_ino};
    const bool knows_roots = (file.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0; // Linux 5.8
    if (found != wanted || (knows_roots && (file.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0))
        return std::nullopt;
    return fd;
}

std::unexpected<Error> replaced(const BindSource& source)
{
    return fail(Code::network_setup_failed,
                source.where + ": what is mounted at " + printable(source.destination) +
                    " is not what was looked at; it was replaced meanwhile");
}

bool lies_below(std::string_view path, std::string_view directory)
{
    return directory == "/" ? path != "/"
                            : path.size() > directory.size() && path.starts_with(directory) &&
                                  path[directory.size()] == '/';
}

Result<UniqueFd> root_of(pid_t init, const BindSource& root)
{
    const std::string process = "/proc/" + std::to_string(init);
    const UniqueFd outside(::open((process + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!outside)
        return fail_errno("open " + process + "/root", errno);
    AH_TRY(const auto table, files::read_file(process + "/mountinfo", files::most_mountinfo));
    const auto mounts = files::read_mountinfo(table.value_or(""));
    std::optional<UniqueFd> found;
    std::string_view place;
    for (const files::HostMount& mount : mounts | std::views::reverse) {
        if (found && !lies_below(place, mount.place))
            continue;
        if (auto above = mounted_at(outside.get(), mount.place, root.identity)) {
            found = std::move(above);
            place = mount.place;
        }
    }
    if (!found)
        return replaced(root);
    return *std::move(found);
}

} // namespace

Status check_mounted(pid_t init, const std::vector<BindSource>& sources)
{
    if (sources.empty() || sources.front().destination != "/")
        return {};
    AH_TRY(const UniqueFd root, root_of(init, sources.front()));
    for (const BindSource& source : sources | std::views::drop(1)) {
        if (!mounted_at(root.get(), source.destination, source.identity))
            return replaced(source);
    }
    return {};
}

} // namespace anchorhold
