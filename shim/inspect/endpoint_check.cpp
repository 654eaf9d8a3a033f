// SPDX-License-Identifier: Apache-2.0
#include "shim/inspect/endpoint_check.hpp"

#include "hooks/files/file_owner.hpp"
#include "hooks/files/socket_file.hpp"
#include "schema/unique_fd.hpp"
#include "shim/inspect/command_user.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <memory>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>

namespace anchorhold::inspect {

namespace {

// Entries of a directory that are looked at; a run's own holds a socket or two.
constexpr std::size_t most_neighbours = 256;
constexpr timeval full_backlog_wait{.tv_sec = 0, .tv_usec = 500'000};
constexpr int loopback_wait = 500; // milliseconds
// 127.0.0.2 is the host's as well, but a server that is bound to 127.0.0.1 does not hear it.
constexpr std::uint32_t loopback_of_wildcards = 0x7f000002;

// A socket that was opened, and its directory.
struct FoundSocket {
    std::string shown;  // the socket's path as it was asked for
    UniqueFd directory; // O_PATH; the directory that will be mounted
    UniqueFd socket;    // O_PATH
    std::string path;   // of the directory, resolved
    std::string name;   // of the socket in it
    struct stat directory_stat = {};
    struct stat socket_stat = {};
};

std::unexpected<Error> unavailable(std::string what)
{
    return fail(Code::endpoint_unavailable, std::move(what));
}

// One openat2(2) whose result is O_PATH.
struct Step {
    int base = AT_FDCWD;
    std::string path;
    std::uint64_t flags = 0;
    std::uint64_t resolve = 0;
};

Result<UniqueFd> open_step(const Step& step, const std::string& shown)
{
    open_how how = {};
    how.flags = step.flags | O_PATH | O_CLOEXEC;
    how.resolve = step.resolve | RESOLVE_NO_MAGICLINKS;
    UniqueFd fd(
        static_cast<int>(::syscall(SYS_openat2, step.base, step.path.c_str(), &how, sizeof how)));
    if (fd)
        return fd;
    switch (errno) {
    case ENOENT:
    case ENOTDIR: return unavailable("no socket at " + shown + "; start the broker first");
    case ELOOP: return unavailable(shown + " is or goes through a symlink; name the real place");
    case EXDEV: return unavailable(shown + " leads out of the permitted directory");
    case EACCES:
        // of a rootless engine
        return unavailable("the engine's user cannot reach " + shown +
                           "; chmod 0711 the directories above it");
    default: return fail_errno("open " + shown, errno, Code::endpoint_unavailable);
    }
}

std::string without_slashes_behind(std::string text)
{
    while (text.ends_with('/'))
        text.pop_back();
    return text;
}

// Returns the permitted directory that `path` lies below. Between the two there must be a directory
// of the run's own, because the whole directory of the socket is mounted.
Result<std::string> permitted_above(const std::string& path,
                                    const std::vector<std::string>& permitted)
{
    std::string listed;
    for (const std::string& entry : permitted) {
        const std::string directory = without_slashes_behind(entry);
        if (path.starts_with(directory + "/")) {
            if (path.find('/', directory.size() + 1) != std::string::npos)
                return directory;
            return unavailable(printable(path) + " lies directly in " + printable(directory) +
                               ", which other runs share; give the run a directory of its own "
                               "below that");
        }
        listed += (listed.empty() ? "" : ", ") + printable(entry);
    }
    return unavailable("the policy does not permit " + printable(path) + ": its \"sockets\" " +
                       (listed.empty() ? std::string("list no directory") : "are " + listed));
}

// Opens the socket's directory. Below a permitted directory no symbolic link is followed and no way
// leads out; a path that the administrator named may go through links.
Result<UniqueFd> open_directory(const std::string& path,
                                const std::optional<std::vector<std::string>>& permitted)
{
    const std::string shown = printable(path);
    const std::string directory = path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
    if (!permitted)
        return open_step({.path = directory, .flags = O_DIRECTORY}, shown);
    AH_TRY(const std::string above, permitted_above(path, *permitted));
    AH_TRY(const UniqueFd base, open_step({.path = above + "/", .flags = O_DIRECTORY}, shown));
    return open_step({.base = base.get(),
                      .path = directory.substr(above.size() + 1),
                      .flags = O_DIRECTORY,
                      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS},
                     shown);
}

// Returns the path where the directory really is; the runtime will be told to mount that.
Result<std::string> real_path(const UniqueFd& directory, const struct stat& expected)
{
    std::array<char, 4096> buffer{};
    const std::string link = "/proc/self/fd/" + std::to_string(directory.get());
    const ssize_t length = ::readlink(link.c_str(), buffer.data(), buffer.size());
    if (length < 0)
        return fail_errno("read " + link, errno, Code::endpoint_unavailable);
    std::string path(buffer.data(), static_cast<std::size_t>(length));
    struct stat there = {};
    if (::stat(path.c_str(), &there) != 0 || there.st_ino != expected.st_ino ||
        there.st_dev != expected.st_dev)
        return unavailable("the directory " + printable(path) + " was moved away");
    return path;
}

Result<FoundSocket> open_socket(const std::string& path,
                                const std::optional<std::vector<std::string>>& permitted)
{
    FoundSocket found;
    found.shown = printable(path);
    found.name = path.substr(path.rfind('/') + 1);
    // The relay enters the directory, wherever that is mounted, and connects to this name.
    if (found.name.size() >= sizeof sockaddr_un::sun_path) {
        return unavailable("the socket's name has " + std::to_string(found.name.size()) +
                           " bytes, more than the 107 that unix(7) takes; rename it");
    }
    AH_TRY(found.directory, open_directory(path, permitted));
    AH_TRY(found.socket, open_step({.base = found.directory.get(),
                                    .path = found.name,
                                    .flags = O_NOFOLLOW,
                                    .resolve = RESOLVE_BENEATH},
                                   found.shown));
    if (::fstat(found.directory.get(), &found.directory_stat) != 0 ||
        ::fstat(found.socket.get(), &found.socket_stat) != 0)
        return fail_errno("look at " + found.shown, errno, Code::endpoint_unavailable);
    if (S_ISLNK(found.socket_stat.st_mode))
        return unavailable(found.shown + " is a symlink; name the real place");
    if (!S_ISSOCK(found.socket_stat.st_mode))
        return unavailable("no socket at " + found.shown + "; start the broker first");
    AH_TRY(found.path, real_path(found.directory, found.directory_stat));
    return found;
}

bool grants(const struct stat& file, const CommandUser& user, mode_t others_bit)
{
    const bool in_group =
        file.st_gid == user.host_gid ||
        std::ranges::find(user.host_groups, file.st_gid) != user.host_groups.end();
    const unsigned shift = file.st_uid == user.host_uid ? 6 : in_group ? 3 : 0;
    return (file.st_mode & (others_bit << shift)) != 0;
}

// Refuses a socket that the command cannot connect to, and a directory that others could change.
// The relay connects with the command's ids and without capabilities, so root too is judged by the
// modes. An access control list that grants more is not seen; one that lets others write shows in
// the group bits.
Status check_modes(const FoundSocket& found, const CommandUser& user)
{
    const struct stat& directory = found.directory_stat;
    const std::string shown = printable(found.path);
    if (directory.st_uid != found.socket_stat.st_uid &&
        !files::is_owned_well(found.path, directory)) {
        return unavailable(shown + " belongs to uid " + std::to_string(directory.st_uid) +
                           ", neither root nor the socket's owner; chown it to root or to uid " +
                           std::to_string(found.socket_stat.st_uid));
    }
    if ((directory.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return unavailable(shown + " can be written by others; chmod 0711 it");
    if (user.host_uid != 0 && directory.st_uid == user.host_uid) {
        return unavailable(shown + " belongs to the command's own user (uid " +
                           std::to_string(user.host_uid) + " here); run the broker as another");
    }
    if (!grants(directory, user, S_IXOTH) || !grants(found.socket_stat, user, S_IWOTH)) {
        return unavailable("uid " + std::to_string(user.host_uid) +
                           ", the command's, cannot connect to " + found.shown +
                           "; chmod 0666 in a 0711 directory");
    }
    return {};
}

// Says whether the file is a socket of one of this run's endpoints.
bool is_ours(const struct stat& file, const std::vector<Endpoint>& all_of_this_run)
{
    return std::ranges::any_of(all_of_this_run, [&](const Endpoint& endpoint) {
        const auto* target = std::get_if<UnixTarget>(&endpoint.to);
        struct stat other = {};
        return target != nullptr && ::lstat(target->path.c_str(), &other) == 0 &&
               other.st_dev == file.st_dev && other.st_ino == file.st_ino;
    });
}

struct NeighbourCloser {
    void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};

// Refuses a directory that holds more than this run's sockets. The whole directory is mounted, so a
// neighbour's socket in it would be handed over too. Only the directory itself is looked at, not
// what lies below. Plain files (a pid file, a lock) and symbolic links are the broker's own
// business.
Status check_neighbours(const FoundSocket& found, const std::vector<Endpoint>& all_of_this_run)
{
    UniqueFd fd(::openat(found.directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, NeighbourCloser> list(fd ? ::fdopendir(fd.get()) : nullptr);
    if (!list && errno == EACCES) {
        return unavailable("the engine's user cannot list " + printable(found.path) +
                           "; chmod 0755 it, or chown it to that user");
    }
    if (!list)
        return fail_errno("list " + printable(found.path), errno, Code::endpoint_unavailable);
    (void)fd.release(); // closedir closes it
    std::size_t count = 0;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
    for (const dirent* entry = ::readdir(list.get()); entry != nullptr;
         entry = ::readdir(list.get())) { // NOLINT(concurrency-mt-unsafe)
        const std::string name = entry->d_name;
        struct stat file = {};
        if (name == "." || name == ".." ||
            ::fstatat(found.directory.get(), name.c_str(), &file, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        const bool plain = S_ISREG(file.st_mode) || S_ISLNK(file.st_mode);
        if (++count > most_neighbours || (!plain && !is_ours(file, all_of_this_run))) {
            return unavailable(printable(found.path) + " also holds " + in_quotes(name, 64) +
                               "; give this run a directory of its own");
        }
    }
    return {};
}

// Connects to the socket and returns who called listen(2) (SO_PEERCRED). Returns nothing when the
// backlog stays full (EAGAIN, unix(7)): then somebody serves it, only slowly.
Result<std::optional<ucred>> ask_who_serves(const FoundSocket& found)
{
    const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd || ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &full_backlog_wait,
                            sizeof full_backlog_wait) != 0)
        return fail_errno("make a socket", errno, Code::endpoint_unavailable);
    const int number = files::connect_to_file(fd.get(), found.socket.get());
    if (number != 0) {
        switch (number) {
        case EAGAIN: return std::nullopt;
        case ECONNREFUSED:
            return unavailable("nobody listens on " + found.shown + "; start the broker first");
        case EPROTOTYPE: return unavailable(found.shown + " is no stream socket");
        default: return fail_errno("connect to " + found.shown, number, Code::endpoint_unavailable);
        }
    }
    ucred server = {};
    socklen_t size = sizeof server;
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &server, &size) != 0)
        return fail_errno("ask who serves " + found.shown, errno, Code::endpoint_unavailable);
    return server;
}

// Returns what a connection of ours to a port of the host comes to: 0, ECONNREFUSED, or another
// errno, ETIMEDOUT among them.
Result<int> knock(std::uint32_t address, Port port)
{
    const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd)
        return fail_errno("make a socket", errno, Code::endpoint_unavailable);
    sockaddr_in place = {};
    place.sin_family = AF_INET;
    place.sin_port = htons(port.number());
    place.sin_addr.s_addr = htonl(address);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return errno;
    pollfd watched{.fd = fd.get(), .events = POLLOUT, .revents = 0};
    if (::poll(&watched, 1, loopback_wait) <= 0)
        return ETIMEDOUT;
    int number = 0;
    socklen_t size = sizeof number;
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &number, &size) != 0)
        return errno;
    return number;
}

} // namespace

// The port is heard at the run's link, whose address does not exist yet. So the wildcard is what
// can be asked for, at an address that only wildcards hear. A refusal alone is an answer: a backlog
// that is full or a firewall on loopback says nothing about who listens.
Status check_listener(const Endpoint& endpoint, Tcp way)
{
    const auto* target = std::get_if<TcpTarget>(&endpoint.to);
    if (target == nullptr || target->host != "host")
        return {};
    const std::string doing = "endpoint " + endpoint.name;
    const std::string port = "port " + std::to_string(target->port.number()) + " of this host";
    AH_TRY(const int at_wildcard, knock(loopback_of_wildcards, target->port), doing);
    if (way == Tcp::veth && at_wildcard != ECONNREFUSED)
        return {};
    AH_TRY(const int at_loopback, knock(INADDR_LOOPBACK, target->port), doing);
    if (way == Tcp::gate && at_loopback != ECONNREFUSED)
        return {};
    if (at_loopback == 0) {
        return unavailable(doing + ": the broker at " + port +
                           " listens on 127.0.0.1 alone, where no container comes; have it listen "
                           "on 0.0.0.0");
    }
    return unavailable(doing + ": nobody listens on " + port + "; start the broker first");
}

Result<SocketServer> find_endpoint(const Endpoint& endpoint,
                                   const std::optional<std::vector<std::string>>& permitted,
                                   const CommandUser& user,
                                   const std::vector<Endpoint>& all_of_this_run)
{
    const auto* target = std::get_if<UnixTarget>(&endpoint.to);
    const std::string doing = "endpoint " + endpoint.name;
    if (target == nullptr)
        return unavailable(doing + ": is no Unix socket");
    AH_TRY(const FoundSocket found, open_socket(target->path, permitted), doing);
    AH_CHECK(check_modes(found, user), doing);
    AH_CHECK(check_neighbours(found, all_of_this_run), doing);
    AH_TRY(const auto server, ask_who_serves(found), doing);
    SocketServer answer{.place = {.endpoint = endpoint,
                                  .directory = found.path,
                                  .socket = found.name,
                                  .identity = {.device = found.directory_stat.st_dev,
                                               .inode = found.directory_stat.st_ino}},
                        .uid = std::nullopt};
    if (server) {
        answer.uid = server->uid;
        answer.pid = server->pid;
    }
    return answer;
}

} // namespace anchorhold::inspect
