// SPDX-License-Identifier: Apache-2.0
// The way to the broker. The relay accepts a client first and then dials the broker for it, by
// connect(2) on a socket that does not block. connect(2) answers
//
//   EAGAIN                 the broker's backlog is full. poll(2) on the socket does not help then,
//                          so we ask again after 1, 2, 4 ... 50 ms, for at most 10 s
//   ENOENT, ECONNREFUSED   nobody listens, because the broker is restarting. We ask again in the
//                          same way, for at most 2 s
//   anything else          we reset the client at once
//
// A Unix socket answers in the first call. TCP answers in the second: it tells what has become of
// the first by then. For a broker on this machine that is always the final answer. Otherwise (a
// full backlog drops the SYN) the answer comes as an event on the socket, and one more call tells
// what it was. A client that waits for this event stands in no line, and is given up after the
// third unanswered SYN, in 7 s.
//
// The clients that wait for one broker stand in one line. We ask only for the head: as long as it
// has to wait, asking for the others is of no use. A newcomer goes to the end. What a waiting
// client sends stays in the kernel. A client leaves the line when it resets, or when it closed and
// has no unread bytes. One that half-closed behind its request is served like any other: TCP does
// not tell a half-close from a close, but a request was made.
//
// The socket is named relative to its directory, after fchdir(2). So the length of the path does
// not matter (sun_path holds 107 bytes), /proc is not needed, and what was checked at the start is
// what is used. The process that runs a Pump therefore has no working directory of its own.
#pragma once

#include "relay/stream.hpp"
#include "schema/unique_fd.hpp"

#include <netinet/in.h>

namespace anchorhold::relay {

struct Target {
    int directory = -1; // both live as long as the pump
    const char* socket = nullptr;
    sockaddr_in address = {}; // used when `socket` is null
};

enum class Answer : uint8_t {
    connected,
    pending, // TCP has no answer yet; an event on the socket tells
    busy,    // the broker's backlog is full
    away,    // nobody listens
    refused, // any other error, in errno; no attempt is made again
};

// Prepares a TCP socket: no Nagle, urgent data in its place in the stream, and a bound on what is
// in flight towards a peer that does not read, because the container's memory cgroup pays for that.
// (The kernel caps the bound by net.core.wmem_max first, and then doubles it.) Returns 0 or an
// errno.
int prepare_tcp(int fd);

// Tries once to connect, or after `pending` reads the outcome of the last attempt. Makes the socket
// if there is none. The same socket can be used again after `busy` and `away`.
Answer dial(const Target& target, UniqueFd& socket);

constexpr int64_t busy_limit = 10'000; // milliseconds
constexpr int64_t away_limit = 2'000;

// Returns the milliseconds until the next attempt. `pause` is the time between the last two, 0
// before the first.
int64_t next_pause(int64_t pause);

// The line of the streams that wait for one target.
class Pump;
struct Route {
    Pump* pump = nullptr;
    Target target;
    Stream* head = nullptr;
    Stream* tail = nullptr;
    unsigned waiting = 0; // number of those in line, without those that have ended there
    int64_t pause = 0;
    int64_t retry_at = 0;
    UniqueFd socket;        // of the head, not yet connected
    int64_t away_since = 0; // since when nobody has listened, in milliseconds; 0: somebody does
};

int64_t now_milliseconds(); // of CLOCK_MONOTONIC
// Dials, and remembers in `away_since` whether somebody listened.
Answer ask(Route& route, UniqueFd& socket);

// Puts a stream at the end of the line, or at its front when it has waited longer than the head.
void enqueue(Route& route, Stream& stream);
Stream* dequeue(Route& route);

// Returns whether a waiting client must be given up, after an event on its socket.
bool has_left(const Side& client);

} // namespace anchorhold::relay
