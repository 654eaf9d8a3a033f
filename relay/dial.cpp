// SPDX-License-Identifier: Apache-2.0
#include "relay/dial.hpp"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

namespace anchorhold::relay {
namespace {

// The descriptor of the directory that the process is in; -1: another one.
int current_directory = -1;

bool enter(int directory)
{
    if (directory == current_directory)
        return true;
    if (fchdir(directory) != 0)
        return false;
    current_directory = directory;
    return true;
}

// The size before the kernel doubles it. A Unix socket has a fifth less by default, which costs
// uploads a tenth of their speed.
constexpr int send_buffer = 256 << 10;

UniqueFd new_socket(int family)
{
    return UniqueFd(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

Answer dial_tcp(const sockaddr_in& target, UniqueFd& socket)
{
    if (!socket) {
        constexpr int more_syns = 2; // sent after 1 and 3 s; given up after 7 s
        socket = new_socket(AF_INET);
        if (!socket || prepare_tcp(socket.get()) != 0 ||
            setsockopt(socket.get(), IPPROTO_TCP, TCP_SYNCNT, &more_syns, sizeof more_syns) != 0)
            return Answer::refused;
    }
    const auto* address = reinterpret_cast<const sockaddr*>(&target);
    int done = connect(socket.get(), address, sizeof target);
    if (done != 0 && errno == EINPROGRESS)
        done = connect(socket.get(), address, sizeof target);
    if (done == 0)
        return Answer::connected;
    switch (errno) {
    case EALREADY: return Answer::pending;
    case ECONNREFUSED: return Answer::away;
    default: return Answer::refused;
    }
}

Answer dial_unix(const Target& target, UniqueFd& socket)
{
    if (!socket) {
        socket = new_socket(AF_UNIX);
        (void)setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
    }
    if (!socket || !enter(target.directory))
        return Answer::refused;
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    strncpy(address.sun_path, target.socket, sizeof address.sun_path - 1);
    if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
        return Answer::connected;
    switch (errno) {
    case EAGAIN: return Answer::busy;
    case ENOENT:
    case ECONNREFUSED: return Answer::away;
    default: return Answer::refused;
    }
}

} // namespace

int prepare_tcp(int fd)
{
    constexpr int on = 1;
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof on) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer) != 0)
        return errno;
    return 0;
}

Answer dial(const Target& target, UniqueFd& socket)
{
    return target.socket == nullptr ? dial_tcp(target.address, socket) : dial_unix(target, socket);
}

int64_t now_milliseconds()
{
    timespec now = {};
    (void)clock_gettime(CLOCK_MONOTONIC, &now); // cannot fail
    return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

Answer ask(Route& route, UniqueFd& socket)
{
    const Answer answer = dial(route.target, socket);
    if (answer == Answer::connected || answer == Answer::busy) {
        route.away_since = 0;
    } else if (answer == Answer::away && route.away_since == 0) {
        route.away_since = now_milliseconds();
    }
    return answer;
}

int64_t next_pause(int64_t pause)
{
    constexpr int64_t longest = 50;
    if (pause == 0)
        return 1;
    return pause * 2 < longest ? pause * 2 : longest;
}

void enqueue(Route& route, Stream& stream)
{
    stream.queued = true;
    stream.next = nullptr;
    if (route.head != nullptr && stream.since < route.head->since) {
        stream.next = route.head;
        route.head = &stream;
        return;
    }
    (route.tail == nullptr ? route.head : route.tail->next) = &stream;
    route.tail = &stream;
}

Stream* dequeue(Route& route)
{
    Stream* stream = route.head;
    route.head = stream->next;
    if (route.head == nullptr)
        route.tail = nullptr;
    stream->queued = false;
    return stream;
}

bool has_left(const Side& client)
{
    if ((client.seen & (EPOLLERR | EPOLLHUP)) != 0)
        return true;
    int unread = 0;
    return (client.seen & EPOLLRDHUP) != 0 && ioctl(client.fd, FIONREAD, &unread) == 0 &&
           unread == 0;
}

} // namespace anchorhold::relay
