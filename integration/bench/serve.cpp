// SPDX-License-Identifier: Apache-2.0
// The broker: level-triggered, as cheap as can be, the same for all.
#include "load.hpp"
#include "order.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace bench {
namespace {

enum class State : std::uint8_t { listening, ordering, serving, ticking };

struct Connection {
    int fd = -1;
    State state = State::ordering;
    Order order = {};
};

int epoll = -1;
Connection metronome; // runs while somebody wants ticks
std::vector<Connection*> tickers;
char served[256 << 10];

void watch(Connection& connection, std::uint32_t events, int how)
{
    epoll_event event = {};
    event.events = events;
    event.data.ptr = &connection;
    if (epoll_ctl(epoll, how, connection.fd, &event) != 0) {
        std::perror("relay bench: watch");
        std::exit(1);
    }
}

void start_metronome(long nanoseconds)
{
    const itimerspec period = {{0, nanoseconds}, {0, nanoseconds}};
    (void)timerfd_settime(metronome.fd, 0, &period, nullptr);
}

void drop(Connection& connection)
{
    std::erase(tickers, &connection);
    close(connection.fd);
    delete &connection;
}

void push(Connection& connection, std::size_t size)
{
    if (send(connection.fd, served, size, MSG_NOSIGNAL) != static_cast<ssize_t>(size))
        drop(connection); // so little always fits unless somebody has gone
}

void accept_all(const Connection& listener)
{
    for (;;) {
        const int fd = accept4(listener.fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        constexpr int on = 1;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        watch(*new Connection{fd, State::ordering, {}}, EPOLLIN, EPOLL_CTL_ADD);
    }
}

void begin(Connection& connection)
{
    const ssize_t size =
        recv(connection.fd, &connection.order, sizeof connection.order, MSG_WAITALL);
    if (size < 0 && errno == EAGAIN)
        return;
    if (size != sizeof connection.order)
        return drop(connection); // an order is one segment, so it comes whole or not at all
    connection.state = State::serving;
    if (connection.order.kind == Kind::down)
        watch(connection, EPOLLOUT, EPOLL_CTL_MOD);
    if (connection.order.kind == Kind::ticks) {
        connection.state = State::ticking;
        tickers.push_back(&connection);
        start_metronome(5'000'000);
    }
}

void send_down(Connection& connection)
{
    std::uint64_t& left = connection.order.amount;
    for (int turn = 0; turn < 16 && left != 0; ++turn) {
        const std::size_t size = std::min<std::uint64_t>(left, sizeof served);
        const ssize_t sent = send(connection.fd, served, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN)
            return;
        if (sent < 0)
            return drop(connection);
        left -= static_cast<std::uint64_t>(sent);
    }
    if (left == 0)
        watch(connection, EPOLLIN, EPOLL_CTL_MOD);
}

void serve_one(Connection& connection)
{
    if (connection.state == State::listening)
        return accept_all(connection);
    if (connection.state == State::ordering)
        return begin(connection);
    if (connection.order.kind == Kind::down && connection.order.amount != 0)
        return send_down(connection);
    const ssize_t size = recv(connection.fd, served, sizeof served, 0);
    if (size < 0 && errno == EAGAIN)
        return;
    if (size <= 0)
        return drop(connection);
    if (connection.order.kind == Kind::echo)
        return push(connection, static_cast<std::size_t>(size));
    if (connection.order.kind != Kind::up)
        return;
    connection.order.amount -= static_cast<std::uint64_t>(size);
    if (connection.order.amount == 0)
        push(connection, 1);
}

void tick()
{
    std::uint64_t expired = 0;
    (void)!read(metronome.fd, &expired, sizeof expired);
    for (Connection* connection : std::vector(tickers)) {
        timespec time = {};
        (void)clock_gettime(CLOCK_MONOTONIC, &time);
        const std::int64_t sent = time.tv_sec * 1'000'000'000 + time.tv_nsec;
        (void)send(connection->fd, &sent, sizeof sent, MSG_NOSIGNAL); // who left has its own event
        if (--connection->order.amount == 0)
            std::erase(tickers, connection);
    }
    if (tickers.empty())
        start_metronome(0);
}

void listen_on(const Address& address)
{
    constexpr int on = 1;
    const int fd = socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const auto* name = reinterpret_cast<const sockaddr*>(&address.storage);
    if (bind(fd, name, address.size) != 0 || listen(fd, 4096) != 0) {
        std::perror("relay bench: listen");
        std::exit(1);
    }
    watch(*new Connection{fd, State::listening, {}}, EPOLLIN, EPOLL_CTL_ADD);
}

} // namespace

void serve(const std::vector<Address>& listen_at)
{
    epoll = epoll_create1(EPOLL_CLOEXEC);
    metronome.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    watch(metronome, EPOLLIN, EPOLL_CTL_ADD);
    for (const Address& address : listen_at)
        listen_on(address);
    for (;;) {
        epoll_event events[64];
        const int count = epoll_wait(epoll, events, 64, -1);
        for (int at = 0; at < count; ++at) {
            auto& connection = *static_cast<Connection*>(events[at].data.ptr);
            if (&connection == &metronome)
                tick();
            else
                serve_one(connection);
        }
    }
}

} // namespace bench
