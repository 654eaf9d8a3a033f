// SPDX-License-Identifier: Apache-2.0
#include "shim/inspect/host_files.hpp"

#include "schema/file_identity.hpp"
#include "schema/unique_fd.hpp"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace anchorhold::inspect {

namespace {

constexpr std::size_t most_read = std::size_t{8} * 1024 * 1024; // bytes of one table in /proc

// The directories of the host that nobody may bind as a whole.
constexpr std::array<std::string_view, 10> whole_directories{
    "/", "/run", "/var/run", "/tmp", "/dev", "/proc", "/sys", "/etc", "/usr", "/var/lib"};

// The engines' sockets by path. They are looked for by name because they may live in another
// network namespace, and no table of ours lists those.
constexpr std::array<std::string_view, 24> engine_sockets{
    "/run/docker.sock",
    "/run/docker/metrics.sock",
    "/run/containerd/containerd.sock",
    "/run/containerd/containerd.sock.ttrpc",
    "/run/containerd/debug.sock",
    "/run/podman/podman.sock",
    "/run/crio/crio.sock",
    "/run/cri-dockerd.sock",
    "/run/dockershim.sock",
    "/run/buildkit/buildkitd.sock",
    "/run/k3s/containerd/containerd.sock",
    "/run/k0s/containerd.sock",
    "/var/lib/kubelet/pod-resources/kubelet.sock",
    "/run/libvirt/libvirt-sock",
    "/run/libvirt/virtqemud-sock",
    "/run/libvirt/virtlxcd-sock",
    "/run/systemd/private",
    "/run/dbus/system_bus_socket",
    "/run/lxd.socket",
    "/var/lib/lxd/unix.socket",
    "/var/snap/lxd/common/lxd/unix.socket",
    "/var/lib/incus/unix.socket",
    "/run/incus/unix.socket",
    "/run/snapd.socket"};

// The engines' sockets by the end of their paths.
constexpr std::array<std::string_view, 18> engine_names{
    "docker.sock",     "containerd.sock",   "containerd.sock.ttrpc",
    "podman.sock",     "crio.sock",         "cri-dockerd.sock",
    "dockershim.sock", "buildkitd.sock",    "kubelet.sock",
    "libvirt-sock",    "virtqemud-sock",    "virtlxcd-sock",
    "systemd/private", "system_bus_socket", "lxd.socket",
    "lxd/unix.socket", "incus/unix.socket", "snapd.socket"};

// Returns the text of a file in /proc, up to most_read bytes; empty when it cannot be read.
std::string read_table(const char* path)
{
    std::string text;
    const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
    std::array<char, 16384> buffer{};
    while (fd && text.size() < most_read) {
        const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
        if (got <= 0)
            break;
        text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return text;
}

std::vector<std::string_view> split(std::string_view text, char separator)
{
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(separator), text.size());
        if (end > 0)
            parts.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

// Returns the path in a line of /proc/net/unix, "slot: refcount protocol flags type state inode
// path"; nothing for a socket that cannot be connected to. A stream socket can be when it listens
// (__SO_ACCEPTCON), a datagram socket when it is bound.
std::optional<std::string> dialled_at(std::string_view line)
{
    const std::size_t slash = line.find(" /");
    if (slash == std::string_view::npos)
        return std::nullopt;
    const auto words = split(line.substr(0, slash), ' ');
    if (words.size() != 7 || (words[3] != "00010000" && words[4] != "0002"))
        return std::nullopt;
    std::string path(line.substr(slash + 1));
    if (path.starts_with("/var/run/"))
        path.erase(0, 4); // everywhere a link to /run
    return path;
}

bool is_below(const std::string& path, const std::string& directory)
{
    return path.starts_with(directory == "/" ? directory : directory + "/");
}

std::string parent_of(const std::string& path)
{
    return path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
}

} // namespace

bool is_engine_socket(std::string_view path)
{
    const bool user_bus = path.starts_with("/run/user/") && path.ends_with("/bus");
    return user_bus || std::ranges::any_of(engine_names, [&](std::string_view name) {
               return path.ends_with(name) && path.size() > name.size() &&
                      path[path.size() - name.size() - 1] == '/';
           });
}

void HostFiles::add(const std::string& path, const std::string& reason)
{
    struct stat file = {};
    if (::stat(path.c_str(), &file) == 0)
        reasons_.try_emplace({file.st_dev, file.st_ino}, reason); // the first reason stays
}

void HostFiles::add_with_parents(const std::string& path, const std::string& reason)
{
    if (!path.starts_with('/'))
        return;
    add(path, reason);
    for (std::string above = parent_of(path); parents_.insert(above).second;
         above = parent_of(above))
        add(above, "a directory above " + printable(path));
}

HostFiles HostFiles::look(const InspectionContext& context)
{
    HostFiles found;
    for (const std::string_view directory : whole_directories)
        found.add(std::string(directory), "the host's " + std::string(directory));
    found.add("/var", "the host's /var");
    for (const std::string& own : context.own_paths)
        found.add_with_parents(own, printable(own) + ", which this run depends on");
    const std::string sockets = read_table("/proc/self/net/unix");
    for (const std::string_view line : split(sockets, '\n')) {
        if (auto path = dialled_at(line))
            found.sockets_.push_back(std::move(*path));
    }
    std::vector<std::string> engines(engine_sockets.begin(), engine_sockets.end());
    std::ranges::copy_if(found.sockets_, std::back_inserter(engines), is_engine_socket);
    for (const std::string& path : engines) {
        struct stat file = {};
        if (::stat(path.c_str(), &file) == 0 && S_ISSOCK(file.st_mode))
            found.add_with_parents(path, "the engine's socket " + printable(path));
    }
    found.mounts_ = files::read_mountinfo(read_table("/proc/self/mountinfo"));
    return found;
}

std::optional<std::string> HostFiles::reason(const FileIdentity& file) const
{
    const auto at = reasons_.find({file.device, file.inode});
    return at == reasons_.end() ? std::nullopt : std::optional(at->second);
}

std::vector<std::string> HostFiles::sockets_below(const std::string& directory) const
{
    std::vector<std::string> below;
    for (const std::string& path : sockets_) {
        struct stat file = {};
        if (is_below(path, directory) && ::lstat(path.c_str(), &file) == 0 &&
            S_ISSOCK(file.st_mode) && std::ranges::find(below, path) == below.end())
            below.push_back(path);
    }
    return below;
}

std::vector<files::HostMount> HostFiles::mounts_below(const std::string& directory) const
{
    std::vector<files::HostMount> below;
    std::ranges::copy_if(mounts_, std::back_inserter(below), [&](const files::HostMount& mount) {
        return is_below(mount.place, directory);
    });
    return below;
}

} // namespace anchorhold::inspect
