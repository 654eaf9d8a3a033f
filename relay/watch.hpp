// SPDX-License-Identifier: Apache-2.0
// The target of an epoll event. Every object that waits for a descriptor derives from Watch, and
// its `ready` finds the object by a static_cast. One epoll instance serves a whole process.
#pragma once

#include <errno.h>
#include <stdint.h>
#include <sys/epoll.h>

namespace anchorhold::relay {

struct Watch {
    void (*ready)(Watch& self, uint32_t events) = nullptr;
};

// Adds a descriptor. Returns 0 or an errno. `self` must not move until the descriptor is closed.
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

// Waits once, at most `timeout` milliseconds (-1: for ever), and calls `ready` for each event.
inline void dispatch(int epoll, int timeout)
{
    epoll_event events[64];
    const int count = epoll_wait(epoll, events, 64, timeout); // EINTR counts as no event
    for (int at = 0; at < count; ++at) {
        auto& self = *static_cast<Watch*>(events[at].data.ptr);
        self.ready(self, events[at].events);
    }
}

} // namespace anchorhold::relay
