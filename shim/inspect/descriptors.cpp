// SPDX-License-Identifier: Apache-2.0
// The descriptors that a container may be handed. This is a list of what is harmless, not of what
// is not, because the kernel grows new kinds of descriptors.

#include "shim/inspect/descriptors.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fcntl.h>
#include <linux/magic.h>
#include <string_view>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace anchorhold::inspect {

namespace {

constexpr unsigned memory_major = 1; // the major number of null, zero, full, random, urandom, kmsg
constexpr std::array<unsigned, 6> harmless_minors{3, 5, 7, 8, 9, 11}; // their minor numbers
constexpr decltype(statfs::f_type) pidfs_magic = 0x50494446; // linux/magic.h has it since 6.9

// The kinds of anonymous inodes that are harmless. Such a descriptor has no other name (proc(5),
// /proc/PID/fd).
constexpr std::array<std::string_view, 5> harmless_anonymous{
    "anon_inode:[eventfd]", "anon_inode:[eventpoll]", "anon_inode:[signalfd]",
    "anon_inode:[timerfd]", "anon_inode:inotify"};

std::string link_of(int fd)
{
    std::array<char, 4096> buffer{};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    const ssize_t length = ::readlink(link.c_str(), buffer.data(), buffer.size());
    return {buffer.data(), length < 0 ? 0 : static_cast<std::size_t>(length)};
}

std::unexpected<Error> refused(int fd, std::string_view what)
{
    return fail(Code::invalid_request, "descriptor " + std::to_string(fd) + " is " +
                                           std::string(what) +
                                           ", which a confined container must not be handed");
}

Result<std::optional<std::string>> check_socket(int fd)
{
    int domain = 0;
    socklen_t size = sizeof domain;
    if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0)
        return fail_errno("ask for the family of descriptor " + std::to_string(fd), errno);
    if (domain != AF_UNIX) {
        return refused(fd,
                       "a socket of the host's network (family " + std::to_string(domain) + ")");
    }
    return "descriptor " + std::to_string(fd) + " is a Unix socket";
}

Status check_file(int fd)
{
    struct statfs system = {};
    if (::fstatfs(fd, &system) != 0)
        return fail_errno("ask for the filesystem of descriptor " + std::to_string(fd), errno);
    switch (system.f_type) {
    case NSFS_MAGIC: return refused(fd, "a namespace");
    case pidfs_magic: return refused(fd, "a handle on a process");
    case PROC_SUPER_MAGIC: return refused(fd, "a file of the host's /proc");
    default: break;
    }
    const std::string name = link_of(fd);
    if (name.starts_with("anon_inode:") &&
        std::ranges::find(harmless_anonymous, name) == harmless_anonymous.end())
        return refused(fd, in_quotes(name, 64));
    return {};
}

Status check_device(int fd, dev_t device)
{
    const bool memory = major(device) == memory_major &&
                        std::ranges::find(harmless_minors, minor(device)) != harmless_minors.end();
    if (memory || ::isatty(fd) == 1)
        return {};
    return refused(fd, "the device " + in_quotes(link_of(fd), 64));
}

Result<unsigned> read_count(std::string_view text, std::string_view what)
{
    unsigned count = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (ec != std::errc() || end != text.data() + text.size() || count > 65535) {
        return fail(Code::invalid_request,
                    std::string(what) + ": " + in_quotes(text) + " is not a number of descriptors");
    }
    return count;
}

} // namespace

Result<std::optional<std::string>> check_descriptor(int fd)
{
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 && errno == EBADF)
        return std::nullopt;
    struct stat file = {};
    if (flags < 0 || ::fstat(fd, &file) != 0)
        return fail_errno("look at descriptor " + std::to_string(fd), errno);
    if ((flags & O_PATH) != 0)
        return refused(fd, "a handle on a path (O_PATH)");
    switch (file.st_mode & S_IFMT) {
    case S_IFSOCK: return check_socket(fd);
    case S_IFIFO: return std::nullopt;
    case S_IFDIR: return refused(fd, "a directory");
    case S_IFCHR: AH_CHECK(check_device(fd, file.st_rdev)); return std::nullopt;
    case S_IFBLK: return refused(fd, "a block device");
    // Anonymous inodes have no type.
    default: AH_CHECK(check_file(fd)); return std::nullopt;
    }
}

Result<std::vector<std::string>> check_descriptors(unsigned preserved)
{
    std::vector<std::string> channels;
    for (unsigned fd = 0; fd < 3 + preserved; ++fd) {
        AH_TRY(auto channel, check_descriptor(static_cast<int>(fd)));
        if (channel)
            channels.push_back(std::move(*channel));
    }
    return channels;
}

Result<unsigned> count_handed(const words::Invocation& call)
{
    const char* const listen = std::getenv("LISTEN_FDS"); // NOLINT(concurrency-mt-unsafe)
    const char* const whose = std::getenv("LISTEN_PID");  // NOLINT(concurrency-mt-unsafe)
    // runc goes by LISTEN_PID, as sd_listen_fds(3) does; crun does not ask.
    const bool passed =
        listen != nullptr && (call.flavour == words::Flavour::crun ||
                              (whose != nullptr && whose == std::to_string(::getpid())));
    AH_TRY(const unsigned listening, read_count(passed ? listen : "0", "LISTEN_FDS"));
    AH_TRY(const unsigned preserved, count_preserved(call));
    return listening + preserved;
}

Result<unsigned> count_preserved(const words::Invocation& call)
{
    const words::OptionAt* const preserve = call.last("preserve-fds");
    return read_count(preserve == nullptr ? "0" : preserve->value, "--preserve-fds");
}

Result<int> one_more_descriptor(const words::Invocation& call)
{
    if (call.verb != words::Verb::create && call.verb != words::Verb::run)
        return 0;
    AH_TRY(const unsigned handed, count_handed(call));
    const auto next = static_cast<int>(3 + handed);
    const int flags = ::fcntl(next, F_GETFD);
    return flags < 0 || (flags & FD_CLOEXEC) != 0 ? next : 0;
}

} // namespace anchorhold::inspect
