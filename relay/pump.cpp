// SPDX-License-Identifier: Apache-2.0
#include "relay/pump.hpp"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

namespace anchorhold::relay {
namespace {

constexpr int accepts_per_turn = 64;
constexpr int64_t starved_pause = 100; // milliseconds

UniqueFd spare_descriptor()
{
    return UniqueFd(eventfd(0, EFD_CLOEXEC));
}

UniqueFd accept_client(int listener)
{
    return UniqueFd(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

} // namespace

Failure Pump::open(int epoll)
{
    epoll_ = epoll;
    void* pages = mmap(nullptr, max_streams * sizeof(Stream), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED)
        return {.doing = "map memory for connections", .number = errno};
    streams_ = static_cast<Stream*>(pages);
    reserve_ = spare_descriptor();
    if (!reserve_)
        return {.doing = "hold a descriptor in reserve", .number = errno};
    return {};
}

Failure Pump::add_listener(UniqueFd socket, Route& route)
{
    constexpr const char* doing = "watch a listening socket";
    if (listener_count_ == max_listeners)
        return {.doing = doing, .why = "there are too many"};
    Listener& listener = listeners_[listener_count_++];
    listener.ready = listener_ready;
    listener.route = &route;
    route.pump = this;
    listener.socket = UniqueFd(socket.release());
    // Accepted sockets inherit the options, which saves three calls for each of them.
    if (const int number = prepare_tcp(listener.socket.get()); number != 0)
        return {.doing = doing, .number = number};
    reset_on_close(listener.socket.get()); // when we are killed, half an answer must not look whole
    if (const int number = watch(epoll_, listener.socket.get(), EPOLLIN, listener); number != 0)
        return {.doing = doing, .number = number};
    return {};
}

int Pump::tick()
{
    run_queue();
    int64_t now = 0;
    if (paused_ != 0 || waiting_ != 0)
        now = now_milliseconds();
    for (unsigned at = 0; waiting_ != 0 && at < max_routes; ++at) {
        if (routes_[at].waiting != 0 && now >= routes_[at].retry_at)
            retry(routes_[at], now);
    }
    for (unsigned at = 0; paused_ != 0 && at < listener_count_; ++at) {
        Listener& listener = listeners_[at];
        if (listener.paused && now >= listener.resume_at && listener.route->waiting < max_waiting)
            resume(listener);
    }
    return queue_ != nullptr ? 0 : until_next(now);
}

int Pump::until_next(int64_t now) const
{
    constexpr int64_t never = INT64_MAX;
    int64_t next = never;
    for (unsigned at = 0; waiting_ != 0 && at < max_routes; ++at) {
        if (routes_[at].waiting != 0 && routes_[at].retry_at < next)
            next = routes_[at].retry_at;
    }
    for (unsigned at = 0; paused_ != 0 && at < listener_count_; ++at) {
        const Listener& listener = listeners_[at];
        if (listener.paused && listener.route->waiting < max_waiting && listener.resume_at < next)
            next = listener.resume_at;
    }
    if (next == never)
        return -1;
    return next > now ? static_cast<int>(next - now) : 0;
}

void Pump::listener_ready(Watch& self, uint32_t)
{
    auto& listener = static_cast<Listener&>(self);
    listener.route->pump->accept_batch(listener);
}

void Pump::client_ready(Watch& self, uint32_t events)
{
    auto& client = static_cast<Side&>(self);
    Stream& stream = *client.stream;
    if (stream.phase == Phase::ended)
        return; // an event of the same batch has ended it
    note(client, events);
    Pump& pump = *stream.route->pump;
    if (stream.phase == Phase::open) {
        pump.run(stream);
    } else if (has_left(client)) {
        pump.end(stream, Verdict::reset);
    }
}

void Pump::broker_ready(Watch& self, uint32_t events)
{
    auto& broker = static_cast<Side&>(self);
    Stream& stream = *broker.stream;
    if (stream.phase == Phase::ended)
        return;
    note(broker, events);
    Pump& pump = *stream.route->pump;
    if (stream.phase == Phase::connecting)
        return pump.conclude(stream);
    pump.run(stream);
}

void Pump::accept_batch(Listener& listener)
{
    for (int turn = 0; turn < accepts_per_turn; ++turn) {
        if (listener.route->waiting >= max_waiting)
            return pause(listener, 0);
        UniqueFd client = accept_client(listener.socket.get());
        int number = client ? 0 : errno;
        if (client) {
            admit(UniqueFd(client.release()), *listener.route);
        } else if (number == EMFILE || number == ENFILE) {
            number = shed(listener);
        }
        if (number == EAGAIN)
            return;
        if (number != 0 && number != ECONNABORTED)
            return pause(listener, starved_pause);
    }
}

// Resets one client with the help of the reserve, when no descriptor is left. Returns 0, or the
// errno of accept.
int Pump::shed(const Listener& listener)
{
    reserve_ = UniqueFd();
    int number = 0;
    {
        const UniqueFd client = accept_client(listener.socket.get());
        if (client) {
            reset_on_close(client.get());
        } else {
            number = errno;
        }
    }
    reserve_ = spare_descriptor();
    return number;
}

void Pump::pause(Listener& listener, int64_t milliseconds)
{
    listener.resume_at = now_milliseconds() + milliseconds;
    if (listener.paused || rewatch(epoll_, listener.socket.get(), 0, listener) != 0)
        return;
    listener.paused = true;
    ++paused_;
}

void Pump::resume(Listener& listener)
{
    if (!reserve_)
        reserve_ = spare_descriptor();
    if (rewatch(epoll_, listener.socket.get(), EPOLLIN, listener) != 0)
        return; // still paused; the next tick tries again
    listener.paused = false;
    --paused_;
}

void Pump::admit(UniqueFd client, Route& route)
{
    Stream* stream = take();
    if (stream == nullptr)
        return reset_on_close(client.get());
    *stream = Stream{};
    stream->client.ready = client_ready;
    stream->client.stream = stream;
    stream->client.fd = client.release();
    stream->client.writable = true;
    stream->client.spliceable = true;
    stream->broker.fd = -1;
    stream->route = &route;
    stream->phase = Phase::dialing;
    stream->since = -1;
    if (watch(epoll_, stream->client.fd, stream_events, stream->client) != 0)
        return end(*stream, Verdict::reset);
    drop_ended(route);
    if (route.head != nullptr)
        return wait_in_line(*stream);
    switch (ask(route, route.socket)) {
    case Answer::connected: return join(*stream, UniqueFd(route.socket.release()));
    case Answer::pending: return await_broker(*stream, UniqueFd(route.socket.release()));
    case Answer::busy:
    case Answer::away: return wait_in_line(*stream);
    case Answer::refused: route.socket = UniqueFd(); return end(*stream, Verdict::reset);
    }
}

void Pump::wait_in_line(Stream& stream)
{
    Route& route = *stream.route;
    const int64_t now = now_milliseconds();
    if (stream.since < 0)
        stream.since = now;
    if (route.head == nullptr) {
        route.pause = next_pause(0);
        route.retry_at = now + route.pause;
    }
    enqueue(route, stream);
    ++route.waiting;
    ++waiting_;
}

Stream& Pump::leave_line(Route& route)
{
    --route.waiting;
    --waiting_;
    return *dequeue(route);
}

void Pump::drop_ended(Route& route)
{
    while (route.head != nullptr && route.head->phase == Phase::ended)
        queue(*dequeue(route));
}

// Dials for one client after the other until one has to wait.
void Pump::retry(Route& route, int64_t now)
{
    for (drop_ended(route); route.head != nullptr; drop_ended(route)) {
        const Answer answer = ask(route, route.socket);
        if (answer == Answer::busy || answer == Answer::away) {
            route.pause = next_pause(route.pause);
            route.retry_at = now + route.pause;
            return expire(route, now - (answer == Answer::busy ? busy_limit : away_limit));
        }
        Stream& stream = leave_line(route);
        if (answer == Answer::pending) {
            await_broker(stream, UniqueFd(route.socket.release()));
            route.pause = next_pause(route.pause);
            route.retry_at = now + route.pause;
            return expire(route, now - busy_limit);
        }
        route.pause = 0;
        if (answer == Answer::refused) {
            end(stream, Verdict::reset);
        } else {
            join(stream, UniqueFd(route.socket.release()));
        }
    }
    route.socket = UniqueFd();
}

// Gives up the clients that came before `deadline`; they stand in front.
void Pump::expire(Route& route, int64_t deadline)
{
    for (drop_ended(route); route.head != nullptr && route.head->since <= deadline;
         drop_ended(route))
        end(leave_line(route), Verdict::reset);
    if (route.head == nullptr)
        route.socket = UniqueFd();
}

void Pump::join(Stream& stream, UniqueFd broker)
{
    stream.broker.writable = true;
    stream.phase = Phase::open;
    attach(stream, UniqueFd(broker.release()), stream_events);
    run(stream); // moves what its client sent while it waited
}

// Waits for the event that answers connect(2). The stream stands in no line, and its client may
// still leave.
void Pump::await_broker(Stream& stream, UniqueFd broker)
{
    if (stream.since < 0)
        stream.since = now_milliseconds();
    stream.phase = Phase::connecting;
    stream.broker.asks_room = true;
    attach(stream, UniqueFd(broker.release()), stream_events | EPOLLOUT);
}

// Reads the answer, after its event.
void Pump::conclude(Stream& stream)
{
    Route& route = *stream.route;
    UniqueFd broker(stream.broker.fd);
    stream.broker.fd = -1;
    switch (ask(route, broker)) {
    case Answer::connected:
        stream.broker.fd = broker.release();
        stream.phase = Phase::open;
        route.retry_at = 0; // those in line need not wait any longer
        return run(stream);
    case Answer::pending: stream.broker.fd = broker.release(); return;
    case Answer::busy:
    case Answer::away:
        if (now_milliseconds() - stream.since >= away_limit)
            return end(stream, Verdict::reset);
        stream.phase = Phase::dialing;
        stream.broker = {};
        stream.broker.fd = -1;
        return wait_in_line(stream);
    case Answer::refused: return end(stream, Verdict::reset);
    }
}

void Pump::attach(Stream& stream, UniqueFd broker, uint32_t events)
{
    stream.broker.ready = broker_ready;
    stream.broker.stream = &stream;
    stream.broker.spliceable = stream.route->target.socket == nullptr;
    stream.broker.fd = broker.release();
    if (watch(epoll_, stream.broker.fd, events, stream.broker) != 0)
        end(stream, Verdict::reset);
}

void Pump::run(Stream& stream)
{
    if (stream.phase != Phase::open)
        return;
    const Verdict verdict = advance(stream);
    if (verdict == Verdict::again && !stream.queued)
        queue(stream);
    if (verdict == Verdict::close || verdict == Verdict::reset)
        return end(stream, verdict);
    if (ask_room(epoll_, stream) != 0)
        end(stream, Verdict::reset);
}

void Pump::end(Stream& stream, Verdict verdict)
{
    Route& route = *stream.route;
    const bool was_in_line = stream.queued && stream.phase == Phase::dialing;
    finish(stream, verdict);
    if (!stream.queued)
        queue(stream);
    if (!was_in_line)
        return;
    --waiting_;
    if (--route.waiting == 0) { // no tick will come for the ended ones in line
        drop_ended(route);
        route.socket = UniqueFd();
    }
}

void Pump::queue(Stream& stream)
{
    stream.queued = true;
    stream.next = queue_;
    queue_ = &stream;
}

void Pump::run_queue()
{
    Stream* stream = queue_;
    queue_ = nullptr;
    while (stream != nullptr) {
        Stream* next = stream->next;
        stream->queued = false;
        if (stream->phase == Phase::ended) {
            stream->next = unused_;
            unused_ = stream;
        } else {
            run(*stream);
        }
        stream = next;
    }
}

Stream* Pump::take()
{
    if (unused_ != nullptr) {
        Stream* stream = unused_;
        unused_ = stream->next;
        return stream;
    }
    return touched_ < max_streams ? &streams_[touched_++] : nullptr;
}

} // namespace anchorhold::relay
