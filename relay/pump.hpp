// SPDX-License-Identifier: Apache-2.0
// The engine of the relay, as a library: it takes connections from listening descriptors to
// targets. Its user, an init or a process outside the container, owns the epoll instance and the
// loop:
//
//   for (;;)
//       dispatch(epoll, pump.tick());
//
// The user must block or ignore SIGPIPE, because splice(2) raises it and has no flag against that.
//
// Accepting. A listener is level-triggered and hands over at most one batch per turn. When no
// descriptor is left (EMFILE), the one held in reserve is given up, to accept the client and reset
// it at once. Otherwise a client left in the backlog would hang, and a listener left ready would
// spin. The agent can set our RLIMIT_NOFILE to 0 from inside, dumpable or not. Then even the
// reserve does not help, and the listener is left alone for a tenth of a second. It is also left
// alone while more than 1024 clients wait for its broker, so that the kernel's backlog fills and
// slows the clients.
//
// Memory. Streams live in one mapping made at the start, whose pages cost nothing until they are
// used. The stream freed last is the first to be used again. No ended stream is used again before
// the next tick, because events of the same batch may still point to it.
//
// Fairness. A stream that could go on for ever gets a share per turn, and is queued for the next.
#pragma once

#include "relay/dial.hpp"
#include "relay/failure.hpp"
#include "relay/stream.hpp"
#include "schema/unique_fd.hpp"

namespace anchorhold::relay {

constexpr unsigned max_routes = 16;
constexpr unsigned max_listeners = 2 * max_routes;
constexpr unsigned max_streams = 16'384;
constexpr unsigned max_waiting = 1'024;

struct Listener : Watch {
    Route* route = nullptr;
    UniqueFd socket;
    bool paused = false;
    int64_t resume_at = 0;
};

// The pump. It must not move, because events point into it.
class Pump {
public:
    Pump() = default;
    Pump(const Pump&) = delete;
    Pump& operator=(const Pump&) = delete;

    Failure open(int epoll);

    // Returns one of max_routes. The caller fills in its target before the first connection comes.
    Route& route(unsigned number) { return routes_[number]; }

    // Takes over a listening, non-blocking TCP socket.
    Failure add_listener(UniqueFd socket, Route& route);

    // Retries, resumes, and frees ended streams for use; to be called between two waits. Returns
    // the milliseconds after which it is to be called again; -1: never.
    int tick();

private:
    static void listener_ready(Watch& self, uint32_t events);
    static void client_ready(Watch& self, uint32_t events);
    static void broker_ready(Watch& self, uint32_t events);

    void accept_batch(Listener& listener);
    int shed(const Listener& listener);
    void pause(Listener& listener, int64_t milliseconds);
    void resume(Listener& listener);

    void admit(UniqueFd client, Route& route);
    void wait_in_line(Stream& stream);
    void retry(Route& route, int64_t now);
    void expire(Route& route, int64_t deadline);
    void drop_ended(Route& route);
    Stream& leave_line(Route& route);

    void join(Stream& stream, UniqueFd broker);
    void await_broker(Stream& stream, UniqueFd broker);
    void conclude(Stream& stream);
    void attach(Stream& stream, UniqueFd broker, uint32_t events);
    void run(Stream& stream);
    void end(Stream& stream, Verdict verdict);
    void queue(Stream& stream);
    void run_queue();
    Stream* take();
    int until_next(int64_t now) const;

    int epoll_ = -1;
    UniqueFd reserve_;
    Stream* streams_ = nullptr;
    unsigned touched_ = 0;     // streams_[touched_] and above were never used
    Stream* unused_ = nullptr; // last in, first out
    Stream* queue_ = nullptr;  // streams that the next tick runs, or makes usable again
    unsigned paused_ = 0;
    unsigned waiting_ = 0;
    unsigned listener_count_ = 0;
    Route routes_[max_routes];
    Listener listeners_[max_listeners];
};

} // namespace anchorhold::relay
