// SPDX-License-Identifier: Apache-2.0
// Reaching the broker. A client is accepted before its broker is: the two are joined by connect(2)
// on a socket that does not block. It says
//
//   EAGAIN                 the broker's backlog is full. poll(2) on the socket is useless then, so
//                          it is asked again after 1, 2, 4 ... 50 ms, for at most 10 s
//   ENOENT, ECONNREFUSED   nobody listens: the broker is being restarted. Asked again likewise,
//                          for at most 2 s
//   anything else          the client is reset at once
//
// A Unix socket answers in the call. TCP answers in the call after: asked a second time, connect(2)
// tells what the first has come to meanwhile, and where the broker is on this machine that is all
// there is to know. Else (a full backlog drops the SYN) the answer is an event on the socket, and
// the same call then tells what it was. Who waits for it is in no line, and gives up after the
// third unanswered SYN, in 7 s.
//
// Those who wait for one broker stand in one line: the head asks, and while it is told to wait
// there is no point in asking for the others. A newcomer goes to the end. What a waiting client
// sends stays in the kernel. It leaves the line when it resets, or when it closed without having
// sent a byte; one that half-closed behind its request is served like any other (TCP does not tell
// that from a close, but a request was made).
//
// The socket is named relative to its directory, by fchdir(2): so the length of the path does not
// matter (sun_path holds 107 bytes), /proc is not needed, and what was checked at the start is
// what is used. The process that runs a Pump therefore has no working directory of its own.
#pragma once

#include "relay/stream.hpp"
#include "schema/unique_fd.hpp"

#include <netinet/in.h>

namespace anchorhold::relay {

struct Target {
    int directory = -1; // both stay as long as the pump
    const char* socket = nullptr;
    sockaddr_in address = {}; // where there is no `socket`
};

enum class Answer : uint8_t { connected, pending, busy, away, refused };

// TCP: no Nagle, urgent data in its place, and a bound on what is in flight towards somebody who
// does not read, which is charged to the container's memory cgroup (the kernel doubles it, and caps
// it by net.core.wmem_max first). 0 or an errno.
int prepare_tcp(int fd);

// One attempt, or after pending the outcome of the last; `socket` is made if it is none and can be
// used again after busy and away.
Answer dial(const Target& target, UniqueFd& socket);

constexpr int64_t busy_limit = 10'000; // milliseconds
constexpr int64_t away_limit = 2'000;

// Milliseconds until the next attempt, after one that came `pause` after its predecessor.
int64_t next_pause(int64_t pause);

// The line of those who wait for one target.
class Pump;
struct Route {
    Pump* pump = nullptr;
    Target target;
    Stream* head = nullptr;
    Stream* tail = nullptr;
    unsigned waiting = 0; // without those who ended in the line
    int64_t pause = 0;
    int64_t retry_at = 0;
    UniqueFd socket;        // the head's, not yet connected
    int64_t away_since = 0; // since when nobody was found; 0: somebody was
};

int64_t now_milliseconds(); // of CLOCK_MONOTONIC
// dial(), and what it says about the broker is remembered.
Answer ask(Route& route, UniqueFd& socket);

// At the end, or in front of all when it has waited longest.
void enqueue(Route& route, Stream& stream);
Stream* dequeue(Route& route);

// Must a waiting client be given up, after an event on its socket?
bool has_left(const Side& client);

} // namespace anchorhold::relay
