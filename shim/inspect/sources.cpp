// SPDX-License-Identifier: Apache-2.0
// Judges what a container gets to see when a path of the host is mounted into it.
#include "shim/inspect/sources.hpp"

#include "hooks/files/owned_path.hpp"
#include "schema/file_identity.hpp"
#include "schema/unique_fd.hpp"
#include "shim/config/normal_path.hpp"
#include "shim/inspect/devices.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <memory>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

namespace anchorhold::inspect {

namespace {

// Entries of one directory that are looked at; nothing deeper.
constexpr std::size_t most_entries = 1024;

// A source that was opened.
struct Opened {
    UniqueFd fd; // O_PATH
    std::string path;
    struct stat file = {};
    const Filesystem* filesystem = nullptr; // null: it is not in the table
    FileIdentity identity() const { return {.device = file.st_dev, .inode = file.st_ino}; }
};

// The reason why a source could not be opened.
enum class Unopened : std::uint8_t {
    missing,
    magic_link,    // a link of /proc that no path stands for
    dangling_link, // a symbolic link that leads nowhere
    unreadable,
};

UniqueFd open_path(const std::string& path, std::uint64_t resolve)
{
    open_how how = {};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = resolve;
    return UniqueFd(
        static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
}

// Opens a source. A magic link of /proc is not followed: it means something else in every process
// that follows it. A dangling link is told from a missing file, because a file may be put at its
// end for the runtime's eyes only (/proc/self/fd/9).
std::expected<Opened, Unopened> open_source(const std::string& path)
{
    Opened opened;
    opened.fd = open_path(path, RESOLVE_NO_MAGICLINKS);
    if (!opened.fd) {
        const int number = errno;
        if (number == ELOOP)
            return std::unexpected(Unopened::magic_link);
        if (number != ENOENT && number != ENOTDIR)
            return std::unexpected(Unopened::unreadable);
        if (!open_path(path, RESOLVE_NO_SYMLINKS) && errno == ELOOP)
            return std::unexpected(Unopened::dangling_link);
        return std::unexpected(Unopened::missing);
    }
    struct statfs system = {};
    if (::fstat(opened.fd.get(), &opened.file) != 0 || ::fstatfs(opened.fd.get(), &system) != 0)
        return std::unexpected(Unopened::unreadable);
    opened.filesystem = filesystem_of_magic(static_cast<std::uint32_t>(system.f_type));
    std::array<char, 4096> buffer{};
    const std::string link = "/proc/self/fd/" + std::to_string(opened.fd.get());
    const ssize_t length = ::readlink(link.c_str(), buffer.data(), buffer.size());
    if (length < 0)
        return std::unexpected(Unopened::unreadable);
    opened.path.assign(buffer.data(), static_cast<std::size_t>(length));
    return opened;
}

// Returns why a source that cannot be opened voids the posture; nothing when it does not.
std::optional<std::string> why_unopened(Unopened answer, const std::string& path)
{
    switch (answer) {
    case Unopened::missing:
        // The runtime refuses a missing source in its own words. A path in /proc may exist for the
        // runtime alone.
        if (!config::normal_path(path).starts_with("/proc/"))
            return std::nullopt;
        [[fallthrough]];
    case Unopened::magic_link: return "goes through a magic link of /proc; name the real place";
    case Unopened::dangling_link: return "is a symlink that leads nowhere; name the real place";
    case Unopened::unreadable: return "cannot be looked at (" + printable(path) + ")";
    }
    std::abort();
}

// Says whether the path leads to two places. runc joins and cleans a path with ".." as text; the
// kernel follows its symbolic links first.
bool is_read_two_ways(const std::string& path, const Opened& opened)
{
    const std::string normal = config::normal_path(path);
    struct stat other = {};
    return (path + "/").find("/../") != std::string::npos &&
           (::stat(normal.c_str(), &other) != 0 || other.st_dev != opened.file.st_dev ||
            other.st_ino != opened.file.st_ino);
}

bool is_host_device_directory(const Opened& opened)
{
    struct stat dev = {};
    struct stat root = {};
    return S_ISDIR(opened.file.st_mode) && ::stat("/dev", &dev) == 0 && ::stat("/", &root) == 0 &&
           dev.st_dev != root.st_dev && dev.st_dev == opened.file.st_dev;
}

// Returns what the source is when that alone voids the posture, else nothing.
std::optional<std::string> void_reason(const Opened& opened, const HostFiles& host)
{
    if (auto reason = host.reason(opened.identity()))
        return reason;
    if (opened.filesystem != nullptr && opened.filesystem->bound == Harmless::never)
        return std::string(opened.filesystem->shown);
    if (is_host_device_directory(opened))
        return "a directory of the host's /dev";
    if (S_ISSOCK(opened.file.st_mode) && is_engine_socket(opened.path))
        return "the engine's socket " + printable(opened.path);
    if (S_ISBLK(opened.file.st_mode) ||
        (S_ISCHR(opened.file.st_mode) && !is_default_device(opened.file.st_rdev)))
        return "the host's device " + printable(opened.path);
    return std::nullopt;
}

// Says whether a file of that type can be connected to.
bool is_door(mode_t mode)
{
    return S_ISSOCK(mode) || S_ISFIFO(mode);
}

bool is_channel(const Filesystem* filesystem)
{
    return filesystem != nullptr && filesystem->bound == Harmless::as_channel;
}

bool is_root(const Source& source)
{
    return source.destination.empty();
}

struct DirectoryCloser {
    void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};

// Returns the sockets and pipes that lie right in a directory. The table /proc/net/unix misses
// those of other network namespaces and those bound by a relative name.
std::vector<std::string> doors_in(const Opened& opened)
{
    std::vector<std::string> doors;
    UniqueFd fd(::openat(opened.fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, DirectoryCloser> list(fd ? ::fdopendir(fd.get()) : nullptr);
    if (!list)
        return doors;
    (void)fd.release(); // closedir closes it
    for (std::size_t count = 0; count < most_entries; ++count) {
        const dirent* entry = ::readdir(list.get()); // NOLINT(concurrency-mt-unsafe): one thread
        if (entry == nullptr)
            break;
        struct stat file = {};
        if (entry->d_type == DT_SOCK || entry->d_type == DT_FIFO ||
            (entry->d_type == DT_UNKNOWN &&
             ::fstatat(opened.fd.get(), entry->d_name, &file, AT_SYMLINK_NOFOLLOW) == 0 &&
             is_door(file.st_mode)))
            doors.push_back(opened.path + "/" + entry->d_name);
    }
    return doors;
}

// Says whether that is one of the files which an engine keeps for this container alone and mounts
// by itself: /etc/hosts from .../overlay-containers/ID/userdata/hosts. Nobody asked for them, and
// nobody else reads them, so they are no channel. Those of another container are one.
bool is_engines_own(const std::string& path, const std::string& destination, const std::string& id)
{
    constexpr std::array<std::string_view, 6> places{"/etc/hosts",         "/etc/hostname",
                                                     "/etc/resolv.conf",   "/dev/shm",
                                                     "/run/.containerenv", "/run/secrets"};
    return std::ranges::find(places, destination) != places.end() &&
           path.ends_with(std::string_view(destination).substr(destination.rfind('/'))) &&
           !id.empty() && path.contains("/" + id + "/");
}

void add_new(std::vector<std::string>& doors, std::vector<std::string> more)
{
    for (std::string& door : more) {
        if (std::ranges::find(doors, door) == doors.end())
            doors.push_back(std::move(door));
    }
}

void report_doors(const Source& source, const std::vector<std::string>& doors, Inspection& into)
{
    for (const std::string& door : doors) {
        if (is_engine_socket(door)) {
            into.voids.push_back({source.where, "holds the engine's socket " + printable(door)});
        } else {
            into.other_channels.push_back(source.where + ": " + printable(door) +
                                          " can be connected to");
        }
    }
}

// Says whether the directory of one of this run's brokers lies at or below the source.
bool hands_over_broker(const Opened& opened, const InspectionContext& context)
{
    return std::ranges::any_of(context.places, [&](const EndpointPlace& place) {
        return place.identity == opened.identity() ||
               place.directory.starts_with(opened.path + "/");
    });
}

// Inspects a filesystem that comes along with a source; its mount point is as good as a source. It
// counts as writable: "ro" of a recursive bind mount does not reach below (mount(8)).
void inspect_below(const Source& source, const files::HostMount& mount,
                   const InspectionContext& context, const HostFiles& host,
                   std::vector<std::string>& doors, Inspection& into)
{
    const Filesystem* const filesystem = filesystem_of_type(mount.type);
    if (is_channel(filesystem)) { // looking at one may never end
        into.other_channels.push_back(source.where + ": " + printable(mount.place) +
                                      " below it is " + printable(mount.type));
        return;
    }
    const auto opened = open_source(mount.place);
    if ((filesystem != nullptr && filesystem->bound != Harmless::always) ||
        (opened && (void_reason(*opened, host) || hands_over_broker(*opened, context)))) {
        into.voids.push_back(
            {source.where, "brings " + printable(mount.place) +
                               " along, which is mounted below it; " +
                               (is_root(source) ? "unmount it" : "bind without \"rbind\"")});
    } else if (opened && is_door(opened->file.st_mode)) {
        add_new(doors, {opened->path});
    } else if (opened && S_ISDIR(opened->file.st_mode)) {
        add_new(doors, doors_in(*opened));
    }
}

// Inspects what the host's filesystem at the source lets the container do, beyond reading it.
void inspect_filesystem(const Source& source, const Opened& opened, Inspection& into)
{
    if (opened.filesystem == nullptr)
        return;
    Surroundings around = source.around;
    around.writable = around.writable || is_root(source);
    const Harmless rule = opened.filesystem->bound;
    switch (judge(rule, around)) {
    case Verdict::harmless: return;
    case Verdict::channel:
        if (!is_root(source)) {
            into.other_channels.push_back(source.where + ": " + printable(opened.path) +
                                          " lies on " + std::string(opened.filesystem->shown));
        }
        return;
    case Verdict::advised:
        into.advice.push_back(source.where + ": " + harm_of(*opened.filesystem, rule));
        return;
    case Verdict::voids:
        into.voids.push_back({source.where, harm_of(*opened.filesystem, rule)});
        return;
    }
    std::abort(); // a byte that is no Verdict
}

// Inspects a directory. Files in the container's root came with the image, and nobody serves a
// socket there unless a table says so; so the root is not listed.
void inspect_directory(const Source& source, const Opened& opened, const InspectionContext& context,
                       const HostFiles& host, Inspection& into)
{
    std::vector<std::string> doors = host.sockets_below(opened.path);
    // A network filesystem is not listed, because that may never end.
    if (!is_root(source) && !is_channel(opened.filesystem))
        add_new(doors, doors_in(opened));
    if (source.recursive) {
        for (const files::HostMount& mount : host.mounts_below(opened.path))
            inspect_below(source, mount, context, host, doors, into);
    }
    report_doors(source, doors, into);
}

// Notes the source for the hook, which compares it with what was mounted. Overlayfs shows no
// layer's device:inode, so a layer that was swapped meanwhile would go unnoticed. That is said as
// advice where somebody could swap it.
void remember(const Source& source, const std::string& path, const FileIdentity& identity,
              Inspection& into)
{
    if (!source.layer) {
        into.sources.push_back({source.where,
                                is_root(source) ? "/" : config::normal_path(source.destination),
                                identity});
    } else if (const Status owned = files::check_owned_path(path, "", Code::invalid_request);
               !owned) {
        into.advice.push_back(source.where +
                              ": can be replaced before it is mounted: " + owned.error().what);
    }
}

} // namespace

void inspect_source(const Source& source, const InspectionContext& context, const HostFiles& host,
                    Inspection& into)
{
    const std::string path =
        source.path.starts_with('/') ? source.path : context.bundle + "/" + source.path;
    const auto opened = open_source(path);
    if (!opened) {
        if (auto why = why_unopened(opened.error(), path)) {
            into.voids.push_back({source.where, std::move(*why)});
        } else {
            // A file that is there by then was looked at by nobody.
            remember(source, path, {}, into);
        }
        return;
    }
    remember(source, path, opened->identity(), into);
    if (is_read_two_ways(path, *opened)) {
        into.voids.push_back({source.where, "has \"..\" behind a symlink, which runtimes read in "
                                            "two ways; name the real place"});
    }
    if (const auto reason = void_reason(*opened, host)) {
        into.voids.push_back({source.where, "is " + *reason + "; mount only what is needed"});
    } else {
        inspect_filesystem(source, *opened, into);
        if (S_ISDIR(opened->file.st_mode))
            inspect_directory(source, *opened, context, host, into);
    }
    if (is_root(source))
        return;
    const std::string shown = source.where + ": " + printable(opened->path);
    if (is_door(opened->file.st_mode))
        into.other_channels.push_back(shown + " can be connected to");
    if (!source.writable)
        return;
    if (hands_over_broker(*opened, context)) {
        into.voids.push_back({source.where, "hands a broker's directory over to be written; mount "
                                            "it \"ro\" or not at all"});
    }
    if (!is_engines_own(opened->path, config::normal_path(source.destination), context.id))
        into.other_channels.push_back(shown + " is writable at " + printable(source.destination));
}

} // namespace anchorhold::inspect
