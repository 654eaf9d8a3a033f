// SPDX-License-Identifier: Apache-2.0
// The bytes of one connection, between a client's TCP socket and a broker's, Unix or TCP.
//
// Two flows, up (client to broker) and down, know nothing of each other until the end. A flow
// reads into one scratch buffer shared by all and writes at once; what the other side does not
// take is kept as the flow's `rest`, and nothing more is read until that is gone. So order is
// kept by construction and a stalled reader costs at most one buffer. There is no timer: silence
// is not an error. What TCP brings in bulk is not copied (relay/pipe.hpp); the rest is then what a
// pipe still holds.
//
// Readiness is edge-triggered. `readable` and `writable` are set by events and cleared by EAGAIN;
// a read that came back short also clears `readable`, which saves the read that would say EAGAIN,
// unless the end or something that makes reads stop early (urgent data, passed descriptors) was
// seen: then only EAGAIN counts.
//
// How it ends, which is where every relay we measured loses something:
//
//   client or broker half-closes     shutdown(SHUT_WR) towards the other once the rest is
//                                    written; the opposite flow goes on for as long as it likes
//   both have                        close both
//   client resets                    close the broker's socket at once, which stops its spending;
//                                    over TCP with RST, as a FIN would be a half-close
//   broker closes with unread data   the kernel says ECONNRESET after what was sent has been
//                                    read: the client gets all of that, and then RST. A
//                                    truncated answer must never look like a complete one
//   broker closes altogether         EPOLLHUP tells it from a half-close; TCP does once the
//                                    client writes on. The answer is delivered, then the
//                                    client's socket is closed, so that no client goes on
//                                    writing into nothing; RST if bytes of its were lost. Bytes
//                                    still unread make the kernel send RST
//   broker shuts its reading side    EPIPE without EPOLLHUP: the client's bytes are dropped, as
//                                    TCP would; the answer goes on
#pragma once

#include "relay/pipe.hpp"
#include "relay/watch.hpp"

#include <stddef.h>
#include <stdint.h>

namespace anchorhold::relay {

struct Stream;

// The structs here are plain data: they lie in pages that are zero until used.
struct Side : Watch { // 24 bytes; a stream has 128
    Stream* stream;
    int fd;
    uint16_t seen; // EPOLLRDHUP, EPOLLHUP, EPOLLERR, EPOLLPRI: they stay
    bool readable : 1;
    bool writable : 1;
    bool asks_room : 1;  // is watched for EPOLLOUT
    bool spliceable : 1; // TCP: its bytes move on by whole packets. A Unix socket's by pages, which
                         // costs more than to copy them
};

// EPOLLOUT only once a write did not fit: else the peer's every read would wake us for nothing.
constexpr uint32_t stream_events = EPOLLIN | EPOLLRDHUP | EPOLLPRI | EPOLLET;

// What was read and not yet written: nothing where begin == end, else bytes of a pipe where it is
// `piped`, else of `rest`.
struct Flow {
    union {
        char* rest; // malloc'ed: the only heap of the relay
        Pipe pipe;
    };
    uint32_t begin;
    uint32_t end;
    bool ended;    // its last byte was read and written
    bool dropping; // its sink takes no more
    bool piped;
    bool bulk; // the last read brought much that can be spliced
};

enum class Phase : uint8_t { none, dialing, connecting, open, ended };

struct Route;
struct Stream {
    Side client;
    Side broker;
    Flow up;
    Flow down;
    Route* route;
    Stream* next;  // in the one list that it is in
    int64_t since; // when it was accepted, if it had to wait, else -1
    Phase phase;
    bool queued;      // in a list, hence not to be reused
    bool broker_gone; // closed altogether
    bool lost;        // bytes of the client went nowhere
};

enum class Verdict : uint8_t {
    wait,  // for the next edge
    again, // its share of this turn is used up
    close, // both sockets; the kernel sends what is left
    reset, // the client must see an error
};

// Records what an event said.
void note(Side& side, uint32_t events);

// Moves what can be moved.
Verdict advance(Stream& stream);

// To be called before waiting: has the kernel tell when a side takes bytes again, if it does not
// now. 0 or an errno.
int ask_room(int epoll, Stream& stream);

// Frees the rests and closes both sockets, with RST if asked.
void finish(Stream& stream, Verdict verdict);

// Makes the coming close of a TCP socket a reset, which its peer cannot take for an ordinary end;
// of another it changes nothing.
void reset_on_close(int fd);

} // namespace anchorhold::relay
