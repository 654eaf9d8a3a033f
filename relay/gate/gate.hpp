// SPDX-License-Identifier: Apache-2.0
// The gate of one run. It was given sockets inside the container's network namespace, and dials
// from the one it was started in. It ends with the container's init.
//
// The bounds keep what one run can cost the host: connections, attempts to dial, look-ups, and
// bytes that were read and not yet written. A connection that may not be dialled yet waits in line.
// From 16 MiB of unwritten bytes on, each flow holds 16 KiB at most, which makes 48 MiB. What is
// over a bound is reset, and counted.
//
// Each socket that is accepted has SO_LINGER {1, 0} from its listener, and each that is dialled
// gets it: when the gate is killed, both ends see a reset, and half an answer does not look whole.
// An orderly end takes it back first.
#pragma once

#include "relay/gate/connection.hpp"
#include "relay/gate/handles.hpp"
#include "relay/gate/responder.hpp"
#include "relay/gate/route_query.hpp"
#include "relay/gate/target.hpp"

#include <deque>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace anchorhold::gate {

constexpr std::size_t most_connections = 1024;
constexpr std::size_t most_dials = 64;
constexpr std::size_t most_unsent = 16 << 20;

// The descriptors that a gate is started with.
struct Inherited {
    UniqueFd init;   // pidfd of the container's first process
    UniqueFd report; // a file, which the gate rewrites
    UniqueFd dns;
    std::vector<UniqueFd> captures;
    std::vector<std::pair<std::size_t, UniqueFd>> endpoints; // by their number in the rules
};

// The gate, one per process. It must not move, because events point into it.
class Gate {
public:
    explicit Gate(const rules::GateRules& rules);
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;

    // Takes over the descriptors, and opens what is not opened later on.
    Status open(Inherited inherited);
    // Serves until the container's init has ended.
    void run();

    // Called by connections.
    void dial(Connection& connection, const Resolved& resolved);
    void join(Connection& connection, UniqueFd socket);
    void refuse(Connection& connection, Refusal why);

private:
    struct Listener : relay::Watch {
        Gate* gate = nullptr;
        UniqueFd socket;
        const rules::GateEndpoint* endpoint = nullptr; // null: it captures
        std::int64_t resume_at = 0;                    // 0: it is not paused
    };
    struct Init : relay::Watch {
        Gate* gate = nullptr;
    };

    Status listen(UniqueFd socket, const rules::GateEndpoint* endpoint);
    static void listener_ready(relay::Watch& self, std::uint32_t events);
    static void client_ready(relay::Watch& self, std::uint32_t events);
    static void server_ready(relay::Watch& self, std::uint32_t events);
    static void init_ready(relay::Watch& self, std::uint32_t events);
    void accept_batch(Listener& listener);
    int shed(const Listener& listener);
    void pause(Listener& listener);
    void resume(Listener& listener);

    void take(UniqueFd client, const Listener& listener);
    void admit(UniqueFd client, Target target, bool is_host);
    void advance_line(std::int64_t now);
    void begin_dial(Connection& connection);
    bool may_dial(const Connection& connection, const rules::Prefix& address);
    void stop_dialling(Connection& connection);

    void run(Connection& connection);
    bool look(Connection& connection);
    bool watch_answer(Connection& connection);
    relay::Verdict move_bytes(Connection& connection);
    void end(Connection& connection, relay::Verdict verdict);

    void set_timer(Connection& connection, std::int64_t at);
    void time_out(Connection& connection, std::int64_t now);
    int tick();
    int until_next(std::int64_t now);
    void write_report(std::int64_t now);

    const rules::GateRules rules_;
    const rules::GateMatcher matcher_;
    Handles handles_;
    Tally tally_;
    Lookups lookups_{tally_};
    Responder responder_{matcher_, handles_, lookups_, tally_};
    RouteQuery routes_;
    UniqueFd epoll_;
    UniqueFd reserve_; // given up to accept and reset a client when no descriptor is left
    Inherited inherited_;
    Init init_;
    bool init_has_ended_ = false;
    std::vector<std::unique_ptr<Listener>> listeners_;

    Pace pace_{50, 50};
    std::size_t dials_ = 0;
    std::size_t unsent_ = 0;
    EndedAttempts ended_attempts_;
    std::vector<std::unique_ptr<Connection>> connections_;
    std::vector<std::unique_ptr<Connection>> ended_; // freed between two waits
    std::deque<Connection*> line_;
    std::vector<Connection*> again_; // had its share of a turn
    std::set<std::pair<std::int64_t, Connection*>> timers_;
    std::int64_t report_at_ = 0;
};

} // namespace anchorhold::gate
