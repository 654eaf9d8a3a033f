// SPDX-License-Identifier: Apache-2.0
// What an epoll event points to: everything that waits for descriptors derives from Watch and is
// found again by a static_cast in its `ready`. One epoll instance serves a whole process.
#pragma once

#include <errno.h>
#include <stdint.h>
#include <sys/epoll.h>

namespace anchorhold::relay {

struct Watch {
    void (*ready)(Watch& self, uint32_t events) = nullptr;
};

// 0 or an errno. `self` must stay where it is until the descriptor is closed.
inline int watch(int epoll, int fd, uint32_t events, Watch& self)
{
    epoll_event event = {};
    event.events = events;
    event.data.ptr = &self;
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : errno;
}

inline int rewatch(int epoll, int fd, uint32_t events, Watch& self)
{
    epoll_event event = {};
    event.events = events;
    event.data.ptr = &self;
    return epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) == 0 ? 0 : errno;
}

// Waits once, at most `timeout` milliseconds (-1: for ever), and tells whoever is meant.
inline void dispatch(int epoll, int timeout)
{
    epoll_event events[64];
    const int count = epoll_wait(epoll, events, 64, timeout); // EINTR: as if nothing had happened
    for (int at = 0; at < count; ++at) {
        auto& self = *static_cast<Watch*>(events[at].data.ptr);
        self.ready(self, events[at].events);
    }
}

} // namespace anchorhold::relay
