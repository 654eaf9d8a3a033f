// SPDX-License-Identifier: Apache-2.0
// The calls that move bytes and ends.
#include "tests/fuzz/kernel.hpp"

#include "tests/fuzz/entry.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

using anchorhold::must;
using namespace kernel;

namespace {

constexpr std::uint64_t pipe_room = 256 << 10;

char byte_at(int origin, std::uint64_t at)
{
    return static_cast<char>((at * 0x9E3779B97F4A7C15 + static_cast<unsigned>(origin)) >> 56 ^
                             static_cast<unsigned>(origin));
}

// Returns how much a read gets: 0 at the end, -1 with an errno on an error.
ssize_t take(File& file, std::uint64_t most)
{
    std::uint64_t available = file.in - file.taken;
    for (const std::uint64_t stop : file.stops) {
        if (stop > file.taken)
            available = std::min(available, stop - file.taken);
    }
    if (available != 0)
        return static_cast<ssize_t>(std::min(available, most));
    if (file.error != 0) {
        const int number = file.error;
        file.error = 0;
        return fail(number);
    }
    return file.read_shut ? 0 : fail(EAGAIN);
}

// Returns how much a write can hand over.
ssize_t put(File& file, std::uint64_t size)
{
    if (file.is_tcp && file.error != 0) {
        const int number = file.error;
        file.error = 0;
        return fail(number);
    }
    if (file.write_shut)
        return fail(EPIPE);
    const std::uint64_t room = file.room - std::min(file.room, file.out - file.consumed);
    const std::uint64_t fits = std::min({size, room, std::uint64_t{world().most_written}});
    if (fits < size)
        file.needs_room = true;
    return fits == 0 ? fail(EAGAIN) : static_cast<ssize_t>(fits);
}

void show_end(File& file, End end)
{
    file.end = end;
    if (file.first_end == End::none)
        file.first_end = end;
}

// Checks that the bytes continue the stream of the socket that this one is joined to, and no other.
void account(File& file, int origin, std::uint64_t at, std::uint64_t size)
{
    must(origin == file.partner && at == file.out);
    file.out += size;
    if (file.is_tcp && file.has_closed) // no peer is there any more
        reset_by_peer(file);
}

void raise_sigpipe(ssize_t outcome)
{
    if (outcome < 0 && errno == EPIPE)
        world().has_sigpipe = true;
}

ssize_t fill(File& from, int from_fd, File& pipe, std::size_t size)
{
    must(pipe.spans.empty());
    if (from.urgent == from.taken + 1 && from.in > from.taken)
        return world().says_nothing ? 0 : fail(EAGAIN);
    const std::uint64_t most = std::min({std::uint64_t{size}, pipe_room, world().most_spliced});
    const ssize_t taken = take(from, most);
    if (taken > 0) {
        pipe.spans.push_back({from_fd, from.taken, static_cast<std::uint64_t>(taken)});
        from.taken += static_cast<std::uint64_t>(taken);
    }
    return taken;
}

ssize_t drain(File& pipe, File& to, std::size_t size)
{
    Span& span = pipe.spans.at(0);
    must(size == span.size);
    const bool leaves = world().signals_late && size > 1;
    const ssize_t sent = put(to, leaves ? size / 2 : size);
    raise_sigpipe(sent);
    if (sent <= 0)
        return sent;
    account(to, span.origin, span.at, static_cast<std::uint64_t>(sent));
    span.at += static_cast<std::uint64_t>(sent);
    span.size -= static_cast<std::uint64_t>(sent);
    if (span.size == 0)
        pipe.spans.clear();
    if (leaves) {
        kernel::close(to);
        world().has_sigpipe = to.write_shut;
    }
    return sent;
}

} // namespace

// NOLINTBEGIN(bugprone-reserved-identifier): names of the linker's
extern "C" {

int __real_close(int fd);

ssize_t __wrap_recvmsg(int fd, msghdr* message, int)
{
    File& file = enter(fd);
    char* to = static_cast<char*>(message->msg_iov[0].iov_base);
    const ssize_t size = take(file, message->msg_iov[0].iov_len);
    message->msg_flags = 0;
    for (ssize_t at = 0; at < size; ++at)
        to[at] = byte_at(fd, file.taken++);
    const bool at_stop = std::ranges::find(file.stops, file.taken) != file.stops.end();
    if (size > 0 && !file.is_tcp && at_stop)
        message->msg_flags = MSG_CTRUNC;
    return size;
}

ssize_t __wrap_send(int fd, const void* bytes, size_t size, int flags)
{
    must((flags & MSG_NOSIGNAL) != 0);
    File& file = enter(fd);
    const ssize_t sent = put(file, size);
    for (ssize_t at = 0; at < sent; ++at) {
        const auto place = file.out + static_cast<std::uint64_t>(at);
        must(static_cast<const char*>(bytes)[at] == byte_at(file.partner, place));
    }
    if (sent > 0)
        account(file, file.partner, file.out, static_cast<std::uint64_t>(sent));
    return sent;
}

ssize_t __wrap_splice(int from, off64_t*, int to, off64_t*, size_t size, unsigned flags)
{
    must((flags & SPLICE_F_NONBLOCK) != 0);
    File& source = enter(from);
    File& sink = file_of(to);
    if (sink.kind == Kind::pipe)
        return fill(source, from, sink, size);
    return drain(file_of(source.other_end), sink, size);
}

int __wrap_pipe2(int* ends, int)
{
    ends[0] = open_file(Kind::pipe);
    if (ends[0] < 0)
        return -1;
    ends[1] = open_file(Kind::pipe);
    if (ends[1] < 0) {
        file_of(ends[0]).is_closed = true;
        return fail(EMFILE);
    }
    file_of(ends[0]).other_end = ends[1];
    return 0;
}

int __wrap_close(int fd)
{
    if (!is_running() || !world().files.contains(fd))
        return __real_close(fd);
    File& file = file_of(fd);
    const auto is_cut = [&] { return file.in != file.taken || (file.is_tcp && file.lingers_not); };
    const bool was_cut = is_cut();
    (void)enter(fd); // more may come in here
    // A client must not be half-closed when it is already known that the connection ends in a
    // reset.
    must(!was_cut || file.kind != Kind::client || file.has_reset || file.half_closed == 0 ||
         world().calls > file.half_closed + 2);
    file.is_closed = true;
    if (file.end != End::reset)
        show_end(file, is_cut() ? End::reset : End::orderly);
    return 0;
}

int __wrap_shutdown(int fd, int how)
{
    must(how == SHUT_WR);
    File& file = enter(fd);
    if (file.is_tcp && file.has_reset)
        return fail(ENOTCONN);
    file.write_shut = true;
    file.half_closed = world().calls;
    show_end(file, End::orderly);
    if (file.read_shut)
        file.edge = true;
    return 0;
}

int __wrap_setsockopt(int fd, int level, int name, const void* value, socklen_t size)
{
    if (fd < 0)
        return fail(EBADF);
    if (level == SOL_SOCKET && name == SO_LINGER) {
        must(size == sizeof(linger));
        file_of(fd).lingers_not = static_cast<const linger*>(value)->l_onoff != 0;
    }
    return 0;
}

int __wrap_poll(pollfd* asked, nfds_t count, int timeout)
{
    must(count == 1 && timeout == 0 && asked->events == 0);
    const std::uint32_t mask = mask_of(enter(asked->fd));
    static_assert(EPOLLERR == POLLERR && EPOLLHUP == POLLHUP);
    asked->revents = static_cast<short>(mask & (POLLERR | POLLHUP));
    return asked->revents == 0 ? 0 : 1;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
    must(request == FIONREAD);
    va_list arguments;
    va_start(arguments, request);
    const File& file = enter(fd);
    *va_arg(arguments, int*) = static_cast<int>(file.in - file.taken);
    va_end(arguments);
    return 0;
}

int __wrap_fcntl64(int, int, ...)
{
    return 0; // the size of a pipe
}

int __wrap_sigtimedwait(const sigset_t*, siginfo_t* signal, const timespec*)
{
    if (!world().has_sigpipe)
        return fail(EAGAIN);
    world().has_sigpipe = false;
    *signal = {};
    signal->si_pid = getpid();
    return SIGPIPE;
}

} // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
