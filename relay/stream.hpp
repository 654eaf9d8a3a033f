// SPDX-License-Identifier: Apache-2.0
// The bytes of one connection, between a client's TCP socket and a broker's socket, Unix or TCP.
//
// The two flows, up (client to broker) and down, know nothing of each other until the end. A flow
// reads into one scratch buffer that all share, and writes at once. What the other side does not
// take is kept as the flow's `rest`, and nothing more is read until the rest is gone. So the order
// is always kept, and a stalled reader costs at most one buffer. There is no timer: silence is not
// an error. Bulk data from TCP is not copied (relay/pipe.hpp); the rest is then what a pipe still
// holds.
//
// Readiness is edge-triggered. Events set `readable` and `writable`, and EAGAIN clears them. A
// short read also clears `readable`, which saves the read that would say EAGAIN. It does not do so
// once an event has told of the end, or of something that makes reads stop early (urgent data,
// passed descriptors). Then only EAGAIN counts.
//
// The end of a connection is where every relay that we measured loses something:
//
//   client or broker half-closes     shutdown(SHUT_WR) towards the other once the rest is
//                                    written; the opposite flow goes on for as long as it likes
//   both have half-closed            close both
//   client resets                    close the broker's socket at once, so that the broker stops
//                                    working for it; over TCP with RST, as a FIN would be a
//                                    half-close
//   broker closes with unread data   the kernel says ECONNRESET after what was sent has been
//                                    read: the client gets all of that, and then RST. A
//                                    truncated answer must never look like a complete one
//   broker closes altogether         EPOLLHUP tells it from a half-close; TCP does once the
//                                    client writes again. The answer is delivered, then the
//                                    client's socket is closed, so that no client goes on
//                                    writing into nothing; with RST if bytes of the client were
//                                    lost. The kernel sends RST itself if bytes are unread
//   broker shuts its reading side    EPIPE without EPOLLHUP: the client's bytes are dropped, as
//                                    TCP would; the answer goes on
#pragma once

#include "relay/pipe.hpp"
#include "relay/watch.hpp"

#include <stddef.h>
#include <stdint.h>

namespace anchorhold::relay {

struct Stream;

// The structs here are plain data, because they lie in pages that are zero until used.
struct Side : Watch { // 24 bytes; a stream has 128
    Stream* stream;
    int fd;
    uint16_t seen; // EPOLLRDHUP, EPOLLHUP, EPOLLERR, EPOLLPRI, once an event has told of them
    bool readable : 1;
    bool writable : 1;
    bool asks_room : 1; // EPOLLOUT is watched
    // It is TCP, whose bytes splice(2) moves by whole packets. Those of a Unix socket it moves by
    // pages, which costs more than to copy them.
    bool spliceable : 1;
};

// The events of a stream. EPOLLOUT is added only once a write did not fit: otherwise every read of
// the peer would wake us for nothing.
constexpr uint32_t stream_events = EPOLLIN | EPOLLRDHUP | EPOLLPRI | EPOLLET;

// One direction of a stream. It holds what was read and not yet written: nothing where begin ==
// end, bytes of `pipe` where `piped` is set, else bytes of `rest`.
struct Flow {
    union {
        char* rest; // malloc'ed: the only heap of the relay
        Pipe pipe;
    };
    uint32_t begin;
    uint32_t end;
    bool ended;    // the last byte was read and written
    bool dropping; // the receiving side takes no more
    bool piped;
    bool bulk; // the last read brought so much that a pipe is worth it
};

enum class Phase : uint8_t {
    none,
    dialing,    // before connect(2) has begun; it may stand in the line
    connecting, // connect(2) of TCP has not answered yet
    open,       // bytes flow
    ended,      // both sockets are closed
};

struct Route;
struct Stream {
    Side client;
    Side broker;
    Flow up;
    Flow down;
    Route* route;
    Stream* next;  // in the one list that holds it
    int64_t since; // when its client began to wait, in milliseconds; -1: it did not have to
    Phase phase;
    bool queued;      // it is in a list, so it must not be reused
    bool broker_gone; // the broker has closed altogether
    bool lost;        // bytes of the client were lost
};

enum class Verdict : uint8_t {
    wait,  // wait for the next event
    again, // its share of this turn is used up
    close, // close both sockets; the kernel sends what is left
    reset, // reset both, so that the client sees an error
};

// Records what an event said.
void note(Side& side, uint32_t events);

constexpr size_t whole_read = 256 << 10;

// Moves what can be moved. Reads at most `most` bytes at a time, so a flow whose receiver has
// stalled holds no more than that.
Verdict advance(Stream& stream, size_t most = whole_read);

// Watches the sides that take no bytes now, so that an event tells when they do again. To be called
// before waiting. Returns 0 or an errno.
int ask_room(int epoll, Stream& stream);

// Frees the rests and closes both sockets; with RST if the verdict is `reset`.
void finish(Stream& stream, Verdict verdict);

// Makes the coming close of a TCP socket a reset, which its peer cannot take for an ordinary end.
// Does nothing to other sockets.
void reset_on_close(int fd);
// Takes that back. Sockets that are accepted have it from their listener, so that their peers see a
// reset when this process is killed.
void end_on_close(int fd);

} // namespace anchorhold::relay
