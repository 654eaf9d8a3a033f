// SPDX-License-Identifier: Apache-2.0
#include "relay/dial.hpp"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace anchorhold::relay {
namespace {

// The directory that the process is in, as an index of descriptors; -1: some other.
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

} // namespace

Answer dial(const Target& target, UniqueFd& socket)
{
    if (!socket)
        socket = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
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

int64_t next_pause(int64_t pause)
{
    constexpr int64_t longest = 50;
    if (pause == 0)
        return 1;
    return pause * 2 < longest ? pause * 2 : longest;
}

void enqueue(Route& route, Stream& stream)
{
    stream.next = nullptr;
    stream.queued = true;
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
