// SPDX-License-Identifier: Apache-2.0
// The calls that make descriptors and wait for them, and those about time and memory. Outside a run
// the last two are the real ones.
#include "tests/fuzz/kernel.hpp"

#include "relay/pump.hpp"
#include "tests/fuzz/entry.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>

using anchorhold::must;
using namespace kernel;

namespace {

alignas(4096) char pages[anchorhold::relay::max_streams * sizeof(anchorhold::relay::Stream)];

int connect_tcp(File& file)
{
    if (file.is_connected)
        return 0;
    if (file.is_pending)
        return fail(EALREADY);
    if (!file.is_asked) {
        file.is_asked = true;
        return fail(EINPROGRESS);
    }
    switch (world().broker) {
    case Broker::answers: file.is_connected = true; return 0;
    case Broker::is_busy: file.is_pending = true; return fail(EALREADY);
    case Broker::is_away: file.is_asked = false; return fail(ECONNREFUSED);
    case Broker::refuses: return fail(EACCES);
    }
    return fail(EINVAL);
}

int connect_unix(File& file)
{
    switch (world().broker) {
    case Broker::answers: file.is_connected = true; return 0;
    case Broker::is_busy: return fail(EAGAIN);
    case Broker::is_away: return fail(ECONNREFUSED);
    case Broker::refuses: return fail(EACCES);
    }
    return fail(EINVAL);
}

} // namespace

// NOLINTBEGIN(bugprone-reserved-identifier): names of the linker's
extern "C" {

int __real_clock_gettime(clockid_t clock, timespec* time);
void* __real_mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset);

int __wrap_accept4(int fd, sockaddr*, socklen_t*, int)
{
    (void)enter(fd);
    if (open_files() >= world().most_files)
        return fail(EMFILE);
    if (world().backlog.empty())
        return fail(EAGAIN);
    const int client = world().backlog.front();
    world().backlog.erase(world().backlog.begin());
    file_of(client).is_accepted = true;
    file_of(client).lingers_not = file_of(fd).lingers_not;
    return client;
}

int __wrap_socket(int family, int, int)
{
    const int fd = open_file(Kind::broker);
    if (fd >= 0)
        file_of(fd).is_tcp = family == AF_INET;
    return fd;
}

int __wrap_connect(int fd, const sockaddr*, socklen_t)
{
    File& file = enter(fd);
    if (file.error != 0) {
        const int number = file.error;
        file.error = 0;
        file.is_asked = false;
        return fail(number);
    }
    return file.is_tcp ? connect_tcp(file) : connect_unix(file);
}

int __wrap_fchdir(int)
{
    return 0;
}

int __wrap_eventfd(unsigned, int)
{
    return open_file(Kind::other);
}

int __wrap_epoll_ctl(int, int, int fd, epoll_event* event)
{
    if (world().cannot_watch)
        return fail(ENOSPC);
    File& file = enter(fd);
    file.interest = event->events;
    file.data = event->data.ptr;
    file.edge = true;
    if (file.kind == Kind::broker) {
        using namespace anchorhold::relay;
        file.partner = static_cast<Side*>(static_cast<Watch*>(file.data))->stream->client.fd;
        file_of(file.partner).partner = fd;
    }
    return 0;
}

int __wrap_epoll_wait(int, epoll_event* events, int most, int)
{
    must(!world().has_sigpipe);
    ++world().calls;
    std::vector<File*> ready;
    for (auto& [fd, file] : world().files) {
        if (events_of(file) != 0)
            ready.push_back(&file);
    }
    if (ready.empty())
        return 0;
    std::ranges::rotate(ready, ready.begin() + world().shift % ready.size());
    ready.resize(
        std::min({ready.size(), std::size_t{world().batch}, static_cast<std::size_t>(most)}));
    for (File* file : ready) {
        events->events = events_of(*file);
        events->data.ptr = file->data;
        file->edge = false;
        ++events;
    }
    return static_cast<int>(ready.size());
}

int __wrap_clock_gettime(clockid_t clock, timespec* time)
{
    if (!is_running())
        return __real_clock_gettime(clock, time);
    *time = {world().clock / 1000, world().clock % 1000 * 1'000'000};
    return 0;
}

void* __wrap_mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (!is_running() || size != sizeof pages)
        return __real_mmap(at, size, protection, flags, fd, offset);
    std::memset(pages, 0, 64 << 10); // more are never used here
    return pages;
}

} // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
