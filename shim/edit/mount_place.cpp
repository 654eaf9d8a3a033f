// SPDX-License-Identifier: Apache-2.0
// Finds the directory for our mounts. The runtime makes their mount points, so these must lie in a
// tmpfs of the config's own. Anywhere else a mount point fails on a read-only root, or stays
// behind: in the image, in a volume, or with "-v /dev:/dev" on the host (measured). Our mounts are
// the last ones, so no other mount covers them. The question here is whether the path still leads
// into that tmpfs when they are made.
#include "shim/edit/mount_place.hpp"

#include "schema/unique_fd.hpp"
#include "shim/config/normal_path.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <unistd.h>

namespace anchorhold::edit {
namespace {

// The candidates, best first. It does not matter whether they are noexec: a bind mount has flags of
// its own.
constexpr std::string_view candidates[] = {"/dev", "/run", "/dev/shm"};
constexpr int most_image_links = 40; // the kernel's limit, path_resolution(7)

struct PlacedMount {
    std::string where;       // "mounts[3]"
    std::string destination; // as written, made normal
    std::string lands;       // the destination behind the image's symbolic links
    std::string type;
    std::string source;
    std::vector<std::string> options;
    std::string strays; // why the mount may lie anywhere; empty: it does not

    bool has(std::string_view option) const
    {
        return std::ranges::find(options, option) != options.end();
    }
};

bool is_at_or_below(std::string_view path, std::string_view directory)
{
    return directory == "/" || path == directory ||
           (path.starts_with(directory) && path[directory.size()] == '/');
}

// Puts the names of a path on the stack, the first name on top.
void push_names(std::string_view path, std::vector<std::string>& stack)
{
    while (!path.empty()) {
        const std::size_t slash = path.rfind('/');
        const std::size_t begin = slash == std::string_view::npos ? 0 : slash + 1;
        stack.emplace_back(path.substr(begin));
        path = path.substr(0, begin == 0 ? 0 : slash);
    }
}

// Returns where a path leads inside the image. A part that does not exist is kept as it is, because
// the runtime will make it. Links are followed by hand: openat2(2) with RESOLVE_IN_ROOT says
// nothing about what does not exist.
std::string resolve_inside(const UniqueFd& rootfs, std::string_view path)
{
    std::vector<std::string> names;
    push_names(path, names);
    std::string resolved; // without links
    for (int links = 0; !names.empty();) {
        const std::string name = std::move(names.back());
        names.pop_back();
        if (name == "..")
            resolved.erase(std::min(resolved.size(), resolved.rfind('/')));
        if (name.empty() || name == "." || name == "..")
            continue;
        const std::string next = resolved + "/" + name;
        char target[PATH_MAX];
        const ssize_t length = ::readlinkat(rootfs.get(), next.c_str() + 1, target, sizeof(target));
        if (length <= 0 || ++links > most_image_links) {
            resolved = next;
            continue;
        }
        const std::string_view link(target, static_cast<std::size_t>(length));
        if (link.front() == '/')
            resolved.clear();
        push_names(link, names);
    }
    return resolved.empty() ? "/" : resolved;
}

Result<PlacedMount> read_mount(json::View entry, const UniqueFd& rootfs)
{
    AH_CHECK(entry.object());
    const auto destination = entry.find("destination");
    if (!destination)
        return std::unexpected(entry.expected("a member \"destination\""));
    AH_TRY(const std::string text, destination->bytes());
    PlacedMount mount{
        entry.where(), config::normal_path(text), resolve_inside(rootfs, text), {}, {}, {}, {}};
    if (const auto type = entry.find("type"); type && !type->is_null()) {
        AH_TRY(mount.type, type->string());
    }
    if (const auto source = entry.find("source"); source && !source->is_null()) {
        AH_TRY(mount.source, source->bytes());
    }
    AH_TRY(const auto options, config::container(entry, "options", json::Kind::array));
    for (const json::View& option : options ? options->items() : std::vector<json::View>()) {
        AH_TRY(std::string word, option.bytes());
        mount.options.push_back(std::move(word));
    }
    return mount;
}

// Returns why a mount below a volume may lie anywhere. Below a volume the runtime follows the
// volume's links, not the image's. Such a link could lead into the tmpfs, and the mount points made
// after that would be made on the host. An ordinary volume in a volume has no such link. A relative
// source cannot be followed from here, so it counts as a link.
std::string stray_link(const PlacedMount& mount, const std::vector<PlacedMount>& earlier)
{
    for (const PlacedMount& volume : earlier) {
        const bool below = is_at_or_below(mount.destination, volume.destination) &&
                           mount.destination != volume.destination;
        if (!below || (!volume.has("bind") && !volume.has("rbind")))
            continue;
        const std::string rest =
            mount.destination.substr(volume.destination == "/" ? 0 : volume.destination.size());
        const UniqueFd inside(::open(volume.source.c_str(), O_PATH | O_CLOEXEC));
        if (!volume.source.starts_with('/') || (inside && resolve_inside(inside, rest) != rest))
            return mount.where + " goes through a link in " + volume.where;
    }
    return {};
}

Result<std::vector<PlacedMount>> read_mounts(json::View config, const UniqueFd& rootfs)
{
    std::vector<PlacedMount> mounts;
    AH_TRY(const auto list, config::container(config, "mounts", json::Kind::array));
    for (const json::View& entry : list ? list->items() : std::vector<json::View>()) {
        AH_TRY(PlacedMount mount, read_mount(entry, rootfs));
        mount.strays = stray_link(mount, mounts);
        mounts.push_back(std::move(mount));
    }
    return mounts;
}

// Returns why this mount cannot hold our folder; empty: it can.
std::string unfit(const PlacedMount& mount)
{
    if (mount.type != "tmpfs" || mount.has("bind") || mount.has("rbind"))
        return mount.where + " is no tmpfs";
    if (mount.has("ro"))
        return mount.where + " is read-only";
    // tmpcopyup is podman's option: the image's files are copied in, and one may be a link in our
    // place.
    if (mount.has("tmpcopyup"))
        return mount.where + " is filled from the image";
    return {};
}

// Returns why our folder cannot be made in `directory`; empty: it can.
std::string obstacle(std::string_view directory, const std::vector<PlacedMount>& mounts,
                     const UniqueFd& rootfs)
{
    if (resolve_inside(rootfs, directory) != directory)
        return "a symbolic link in the image";
    const std::string ours = std::string(directory) + "/anchorhold";
    std::string why = "no mount of its own";
    for (const PlacedMount& mount : mounts) {
        if (why.empty())
            why = mount.strays;
        for (const std::string& path : {mount.destination, mount.lands}) {
            if (path == directory) {
                why = unfit(mount);
            } else if (is_at_or_below(directory, path)) {
                why = mount.where + " covers it";
            } else if (why.empty() && is_at_or_below(path, ours)) {
                why = mount.where + " is in the way";
            }
        }
    }
    return why;
}

} // namespace

Result<std::string> mount_place(json::View config, const std::string& rootfs)
{
    const UniqueFd root(::open(rootfs.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root) {
        return fail_errno("open the root filesystem " + in_quotes(rootfs), errno,
                          Code::invalid_request);
    }
    AH_TRY(const auto mounts, read_mounts(config, root));
    std::string reasons;
    for (const std::string_view directory : candidates) {
        const std::string why = obstacle(directory, mounts, root);
        if (why.empty())
            return std::string(directory) + "/anchorhold";
        reasons.append(reasons.empty() ? "" : "; ").append(directory).append(": ").append(why);
    }
    return fail(Code::endpoint_unavailable,
                "no tmpfs of config.json can hold the relay and its sockets (" + reasons + ")");
}

} // namespace anchorhold::edit
