// SPDX-License-Identifier: Apache-2.0
#include "relay/pipe.hpp"

#include "schema/unique_fd.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

namespace anchorhold::relay {
namespace {

// The size of a pipe, and so the most that a stalled stream holds. One slot of a pipe takes a
// fragment of a packet, which is one page or several.
constexpr int most = 256 << 10;

Pipe spare = {};
bool has_spare = false;
bool given_up = false;

// Takes back a SIGPIPE that our splice(2) raised. The call knows no MSG_NOSIGNAL, and may raise the
// signal even when it succeeds: a part was taken, then the reader left. That signal is pending for
// this thread, and it is taken here before a reader of signals hears of it. One that somebody sent
// to the process comes after it, and is sent again.
void swallow_sigpipe()
{
    sigset_t pipe_only;
    (void)sigemptyset(&pipe_only);
    (void)sigaddset(&pipe_only, SIGPIPE);
    siginfo_t signal;
    constexpr timespec at_once = {};
    if (sigtimedwait(&pipe_only, &signal, &at_once) == SIGPIPE && signal.si_pid != getpid())
        (void)kill(getpid(), SIGPIPE);
}

} // namespace

bool take_pipe(Pipe& pipe)
{
    if (has_spare) {
        pipe = spare;
        has_spare = false;
        return true;
    }
    int ends[2];
    if (given_up || pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0)
        return false;
    (void)fcntl(ends[0], F_SETPIPE_SZ, most); // over quota it keeps the size it has
    pipe = {ends[0], ends[1]};
    return true;
}

void give_pipe(const Pipe& pipe)
{
    if (has_spare)
        return close_pipe(pipe);
    spare = pipe;
    has_spare = true;
}

void close_pipe(const Pipe& pipe)
{
    const UniqueFd read_end(pipe.read_end);
    const UniqueFd write_end(pipe.write_end);
}

void close_spare_pipe()
{
    if (has_spare)
        close_pipe(spare);
    has_spare = false;
}

bool give_up_pipes(int number)
{
    if (number != EPERM && number != EACCES && number != ENOSYS && number != EINVAL)
        return false;
    close_spare_pipe();
    given_up = true;
    return true;
}

ssize_t fill_pipe(const Pipe& pipe, int from)
{
    return splice(from, nullptr, pipe.write_end, nullptr, most, SPLICE_F_NONBLOCK);
}

ssize_t drain_pipe(const Pipe& pipe, int to, size_t size)
{
    const ssize_t sent = splice(pipe.read_end, nullptr, to, nullptr, size, SPLICE_F_NONBLOCK);
    const int number = errno;
    if (sent != static_cast<ssize_t>(size))
        swallow_sigpipe();
    errno = number;
    return sent;
}

} // namespace anchorhold::relay
