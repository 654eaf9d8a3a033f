// SPDX-License-Identifier: Apache-2.0
#include "relay/stream.hpp"

#include "schema/unique_fd.hpp"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

namespace anchorhold::relay {
namespace {

constexpr size_t least_bulk = 64 << 10;    // bytes of a read, from which a pipe is tried
constexpr size_t least_in_pipe = 16 << 10; // bytes of a splice, from which it is tried again
constexpr int reads_per_turn = 4;          // a mebibyte, then others get their turn
constexpr uint32_t early_stops = EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI;
constexpr size_t kept_scratch = 16 << 10;
alignas(4096) char scratch[whole_read];
size_t read_size = whole_read; // of this turn
size_t used_scratch = 0;

enum class Step : uint8_t {
    idle,          // nothing can be moved now
    moved,         // something was moved
    ended,         // the source has sent its last byte
    source_failed, // bytes of the source are lost
    sink_failed,   // the sink takes no more
};

// Reads into scratch. recvmsg is used and not recv, because its flags tell when the kernel stopped
// early.
ssize_t receive(Side& from)
{
    iovec part = {scratch, read_size};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    const ssize_t size = recvmsg(from.fd, &message, 0);
    if (size > static_cast<ssize_t>(used_scratch))
        used_scratch = static_cast<size_t>(size);
    const bool is_short = size >= 0 && static_cast<size_t>(size) < read_size;
    if (is_short && message.msg_flags == 0 && (from.seen & early_stops) == 0)
        from.readable = false;
    return size;
}

// Gives back the pages of scratch that bulk data filled, so that they are not held while nothing
// moves.
void give_scratch_back()
{
    if (used_scratch <= kept_scratch)
        return;
    (void)madvise(scratch + kept_scratch, sizeof scratch - kept_scratch, MADV_DONTNEED);
    used_scratch = 0;
}

// Returns the number of bytes taken, 0 on EAGAIN, -1 on an error.
ssize_t push(Side& to, const char* bytes, size_t size)
{
    const ssize_t sent = send(to.fd, bytes, size, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN)
        return -1;
    const ssize_t taken = sent < 0 ? 0 : sent;
    if (static_cast<size_t>(taken) < size)
        to.writable = false;
    return taken;
}

bool has_rest(const Flow& flow)
{
    return flow.begin < flow.end;
}

// Frees the rest. A pipe that is not empty is closed, because no other flow can use it.
void free_rest(Flow& flow)
{
    if (!has_rest(flow))
        return;
    if (flow.piped) {
        close_pipe(flow.pipe);
    } else {
        free(flow.rest);
    }
    flow.begin = flow.end = 0;
}

Step push_rest(Flow& flow, Side& to)
{
    const ssize_t taken = push(to, flow.rest + flow.begin, flow.end - flow.begin);
    if (taken < 0)
        return Step::sink_failed;
    if (flow.begin + static_cast<uint32_t>(taken) == flow.end) {
        free_rest(flow);
    } else {
        flow.begin += static_cast<uint32_t>(taken);
    }
    return Step::moved;
}

Step drain(Flow& flow, Side& to)
{
    const ssize_t taken = drain_pipe(flow.pipe, to.fd, flow.end - flow.begin);
    if (taken < 0 && errno != EAGAIN)
        return Step::sink_failed;
    if (taken > 0)
        flow.begin += static_cast<uint32_t>(taken);
    if (has_rest(flow)) {
        to.writable = false;
    } else {
        give_pipe(flow.pipe);
    }
    return Step::moved;
}

Step deliver(Flow& flow, Side& to, size_t size)
{
    const ssize_t taken = push(to, scratch, size);
    if (taken < 0)
        return Step::sink_failed;
    const size_t left = size - static_cast<size_t>(taken);
    if (left == 0)
        return Step::moved;
    flow.rest = static_cast<char*>(malloc(left));
    if (flow.rest == nullptr)
        return Step::source_failed; // bytes are lost, and both sides must know
    memcpy(flow.rest, scratch + taken, left);
    flow.piped = false;
    flow.begin = 0;
    flow.end = static_cast<uint32_t>(left);
    return Step::moved;
}

Step copy(Flow& flow, Side& from, Side& to)
{
    const ssize_t size = receive(from);
    if (size < 0) {
        from.readable = false;
        return errno == EAGAIN ? Step::idle : Step::source_failed;
    }
    if (size == 0) {
        flow.ended = true;
        return Step::ended;
    }
    flow.bulk = from.spliceable && static_cast<size_t>(size) >= least_bulk;
    return flow.dropping ? Step::moved : deliver(flow, to, static_cast<size_t>(size));
}

// Moves bulk data by a pipe. The kernel tells an error only once, so an error of splice(2) must
// count here.
Step pass(Flow& flow, Side& from, Side& to)
{
    Pipe pipe;
    if (!take_pipe(pipe))
        return copy(flow, from, to);
    const ssize_t size = fill_pipe(pipe, from.fd);
    if (size <= 0) {
        const int number = size == 0 ? 0 : errno;
        give_pipe(pipe);
        if (number == 0 || (number == EAGAIN && (from.seen & early_stops) != 0) ||
            give_up_pipes(number))
            return copy(flow, from, to);
        from.readable = false;
        return number == EAGAIN ? Step::idle : Step::source_failed;
    }
    flow.bulk = static_cast<size_t>(size) >= least_in_pipe;
    flow.pipe = pipe;
    flow.piped = true;
    flow.begin = 0;
    flow.end = static_cast<uint32_t>(size);
    return drain(flow, to);
}

Step step(Flow& flow, Side& from, Side& to)
{
    if (!flow.dropping && !to.writable)
        return Step::idle;
    if (has_rest(flow))
        return flow.piped ? drain(flow, to) : push_rest(flow, to);
    if (flow.ended || !from.readable)
        return Step::idle;
    const bool by_pipe = flow.bulk && !flow.dropping && read_size == whole_read;
    return by_pipe ? pass(flow, from, to) : copy(flow, from, to);
}

// Stops the flow to a broker that takes nothing more. At this moment only the kernel knows whether
// the broker is gone or has only shut its reading side. The event that tells may still be on its
// way.
void stop_up(Stream& stream)
{
    pollfd broker = {stream.broker.fd, 0, 0};
    if (poll(&broker, 1, 0) == 1 && (broker.revents & POLLHUP) != 0) {
        stream.broker_gone = true;
        stream.lost = true;
    }
    free_rest(stream.up);
    stream.up.dropping = true;
}

Verdict verdict_of(const Stream& stream)
{
    if (!stream.down.ended || (!stream.up.ended && !stream.broker_gone))
        return Verdict::wait;
    return stream.lost || has_rest(stream.up) ? Verdict::reset : Verdict::close;
}

// Half-closes. An event reports a peer that is gone already (ENOTCONN).
void end_writing(const Side& to)
{
    (void)shutdown(to.fd, SHUT_WR);
}

// Moves bytes up, unless the broker is gone. What a client still sends then stays in the kernel,
// which answers our close with RST.
Step step_up(Stream& stream)
{
    return stream.broker_gone ? Step::idle : step(stream.up, stream.client, stream.broker);
}

} // namespace

void note(Side& side, uint32_t events)
{
    side.seen = static_cast<uint16_t>(side.seen | (events & early_stops));
    if ((events & (EPOLLIN | early_stops)) != 0)
        side.readable = true;
    if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0)
        side.writable = true;
}

Verdict advance(Stream& stream, size_t most)
{
    read_size = most;
    if ((stream.client.seen & EPOLLERR) != 0)
        return Verdict::reset; // the client reset; the broker is closed at once
    if ((stream.broker.seen & EPOLLHUP) != 0)
        stream.broker_gone = true;
    if ((stream.broker.seen & EPOLLERR) != 0)
        stream.lost = true; // the broker closed with bytes unread
    for (int turn = 0; turn < reads_per_turn; ++turn) {
        const Step up = step_up(stream);
        const Step down = step(stream.down, stream.broker, stream.client);
        if (up == Step::source_failed || down == Step::source_failed || down == Step::sink_failed)
            return Verdict::reset;
        if (up == Step::sink_failed)
            stop_up(stream);
        if (up == Step::ended)
            end_writing(stream.broker);
        // The verdict comes before the half-close, because after FIN a client sees no RST any more.
        const Verdict verdict = verdict_of(stream);
        if (verdict != Verdict::wait)
            return verdict;
        if (down == Step::ended)
            end_writing(stream.client);
        if (up == Step::idle && down == Step::idle)
            return Verdict::wait;
    }
    return Verdict::again;
}

int ask_room(int epoll, Stream& stream)
{
    Side* const sides[] = {&stream.client, &stream.broker};
    for (Side* side : sides) {
        if (side->writable || side->asks_room)
            continue;
        side->asks_room = true;
        if (const int number = rewatch(epoll, side->fd, stream_events | EPOLLOUT, *side);
            number != 0)
            return number;
    }
    return 0;
}

void reset_on_close(int fd)
{
    const linger none = {1, 0};
    // Cannot fail on an open socket.
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
}

void end_on_close(int fd)
{
    constexpr linger whole = {0, 0};
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &whole, sizeof whole);
}

void finish(Stream& stream, Verdict verdict)
{
    free_rest(stream.up);
    free_rest(stream.down);
    close_spare_pipe();
    give_scratch_back();
    if (verdict == Verdict::reset) {
        reset_on_close(stream.client.fd);
        reset_on_close(stream.broker.fd); // -1 when there is none yet
    } else {
        end_on_close(stream.client.fd);
        if (stream.broker.spliceable)
            end_on_close(stream.broker.fd);
    }
    const UniqueFd client(stream.client.fd);
    const UniqueFd broker(stream.broker.fd);
    stream.phase = Phase::ended;
}

} // namespace anchorhold::relay
