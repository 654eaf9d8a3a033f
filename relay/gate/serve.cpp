// SPDX-License-Identifier: Apache-2.0
// Bytes, ends, and what is due when: the part of the gate that serves connections once they are
// dialled.
#include "relay/gate/gate.hpp"

#include "relay/dial.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <sys/epoll.h>
#include <unistd.h>

namespace anchorhold::gate {
namespace {

constexpr std::int64_t hello_within = 10'000; // milliseconds
constexpr std::int64_t report_pause = 1000;
constexpr std::size_t small_read = 16 << 10;

} // namespace

// ---- bytes ------------------------------------------------------------------------------------

void Gate::client_ready(relay::Watch& self, std::uint32_t events)
{
    auto& client = static_cast<relay::Side&>(self);
    auto& connection = static_cast<Connection&>(*client.stream);
    if (connection.phase == relay::Phase::ended)
        return; // an event of the same batch has ended it
    relay::note(client, events);
    if (connection.phase == relay::Phase::open) {
        connection.gate.run(connection);
    } else if ((client.seen & (EPOLLHUP | EPOLLERR)) != 0) {
        // It has reset. One that has only sent its end may still wait for the answer: a dial takes
        // a round trip here, in which many a client has said all that it will say.
        connection.gate.end(connection, relay::Verdict::reset);
    }
}

void Gate::server_ready(relay::Watch& self, std::uint32_t events)
{
    auto& server = static_cast<relay::Side&>(self);
    auto& connection = static_cast<Connection&>(*server.stream);
    if (connection.phase == relay::Phase::ended)
        return;
    relay::note(server, events);
    connection.gate.run(connection);
}

// Looks at the client's first bytes, as far as they have come. Returns false when that has ended
// the connection.
bool Gate::look(Connection& connection)
{
    switch (look_at_hello(connection)) {
    case Look::passes:
        connection.looks = false;
        connection.watches = connection.hello_size != 0 && !connection.again;
        set_timer(connection, 0);
        return true;
    case Look::again:
    case Look::refused: refuse(connection, Refusal::tls); return false;
    case Look::unfinished:
        if (connection.timer == 0)
            set_timer(connection, relay::now_milliseconds() + hello_within);
        break;
    case Look::nothing: break;
    }
    connection.client.readable = false; // until more has come
    return true;
}

// Looks at the server's first bytes behind a ClientHello. Returns false when that has ended the
// connection.
bool Gate::watch_answer(Connection& connection)
{
    const Look look = look_at_answer(connection);
    if (look == Look::refused) {
        refuse(connection, Refusal::tls);
        return false;
    }
    if (look == Look::nothing || look == Look::unfinished) {
        connection.broker.readable = false; // until more has come
        return true;
    }
    connection.watches = false;
    connection.again = connection.looks = look == Look::again;
    return true;
}

// Moves what can be moved. When much is unwritten already, only little is read at a time: to read
// nothing at all would let connections whose clients have stalled stop all others. A client that
// must not be read yet is as one that has sent nothing.
relay::Verdict Gate::move_bytes(Connection& connection)
{
    const bool client_had = connection.client.readable;
    if (connection.looks)
        connection.client.readable = false;
    const std::size_t before = unsent(connection);
    const relay::Verdict verdict =
        relay::advance(connection, unsent_ < most_unsent ? relay::whole_read : small_read);
    unsent_ = unsent_ - before + unsent(connection);
    if (connection.looks)
        connection.client.readable = client_had;
    return verdict;
}

void Gate::run(Connection& connection)
{
    if (connection.phase != relay::Phase::open)
        return;
    if (connection.looks && connection.client.readable && !look(connection))
        return;
    if (connection.watches && connection.broker.readable && !watch_answer(connection))
        return;
    const relay::Verdict verdict = move_bytes(connection);
    if (verdict == relay::Verdict::close || verdict == relay::Verdict::reset)
        return end(connection, verdict);
    if (verdict == relay::Verdict::again)
        again_.push_back(&connection);
    if (relay::ask_room(epoll_.get(), connection) != 0)
        end(connection, relay::Verdict::reset);
}

void Gate::end(Connection& connection, relay::Verdict verdict)
{
    unsent_ -= unsent(connection);
    relay::finish(connection, verdict);
    stop_dialling(connection);
    set_timer(connection, 0);
    Lookups::forget(connection);
    std::erase(line_, &connection);
    std::erase(again_, &connection);
    const std::size_t place = connection.place;
    ended_.push_back(std::move(connections_[place]));
    if (place + 1 != connections_.size()) {
        connections_[place] = std::move(connections_.back());
        connections_[place]->place = place;
    }
    connections_.pop_back();
}

// ---- time -------------------------------------------------------------------------------------

void Gate::set_timer(Connection& connection, std::int64_t at)
{
    if (connection.timer != 0)
        timers_.erase({connection.timer, &connection});
    connection.timer = at;
    if (at != 0)
        timers_.insert({at, &connection});
}

void Gate::time_out(Connection& connection, std::int64_t now)
{
    if (connection.phase == relay::Phase::open)
        return refuse(connection, Refusal::tls);
    if (now >= connection.deadline)
        return refuse(connection, Refusal::unreachable);
    const std::int64_t next = now + next_address_after;
    set_timer(connection, connection.dialer.has_more() ? std::min(connection.deadline, next)
                                                       : connection.deadline);
    connection.dialer.hurry();
}

// Does what is due; to be called between two waits. Returns the milliseconds after which it is to
// be called again; -1: an event tells.
int Gate::tick()
{
    const std::int64_t now = relay::now_milliseconds();
    const std::vector<Connection*> share = std::exchange(again_, {});
    for (Connection* const connection : share)
        run(*connection); // those that have ended since are not freed yet
    while (!timers_.empty() && timers_.begin()->first <= now)
        time_out(*timers_.begin()->second, now);
    responder_.tick();
    advance_line(now);
    for (const auto& listener : listeners_) {
        if (listener->resume_at != 0 && listener->resume_at <= now)
            resume(*listener);
    }
    if (tally_.is_dirty() && now >= report_at_)
        write_report(now);
    ended_.clear();
    ended_attempts_.clear();
    return until_next(now);
}

int Gate::until_next(std::int64_t now)
{
    const int resolver = lookups_.tick();
    std::int64_t next = resolver < 0 ? INT64_MAX : now + resolver;
    const auto consider = [&next](std::int64_t at) { next = std::min(next, at); };
    if (!again_.empty() || responder_.has_work())
        consider(now);
    if (!timers_.empty())
        consider(timers_.begin()->first);
    if (!line_.empty() && dials_ < most_dials)
        consider(pace_.due(now));
    for (const auto& listener : listeners_) {
        if (listener->resume_at != 0)
            consider(listener->resume_at);
    }
    if (tally_.is_dirty())
        consider(report_at_);
    if (next == INT64_MAX)
        return -1;
    return static_cast<int>(std::clamp<std::int64_t>(next - now, 0, INT32_MAX));
}

// Writes the report over the old one, at most once a second. A reader may meet it half written, and
// reads again.
void Gate::write_report(std::int64_t now)
{
    report_at_ = now + report_pause;
    const std::string text = tally_.text() + "\n";
    const int fd = inherited_.report.get();
    if (::pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()))
        (void)::ftruncate(fd,
                          static_cast<off_t>(text.size())); // longer than before: nothing to cut
}

} // namespace anchorhold::gate
