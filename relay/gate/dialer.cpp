// SPDX-License-Identifier: Apache-2.0
#include "relay/gate/dialer.hpp"

#include "relay/dial.hpp"
#include "relay/stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <utility>

namespace anchorhold::gate {
namespace {

bool set(int fd, int level, int option, int value)
{
    return ::setsockopt(fd, level, option, &value, sizeof value) == 0;
}

// Returns a socket for an outside peer. Its window is bounded, because what a peer sends and the
// container does not read is the host's memory. It notices a peer that has gone without a word.
UniqueFd outside_socket(int family)
{
    constexpr int window = 1 << 20;
    UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int fd = socket.get();
    if (!socket || relay::prepare_tcp(fd) != 0 || !set(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, window) ||
        !set(fd, SOL_SOCKET, SO_KEEPALIVE, 1) || !set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 60) ||
        !set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 15) || !set(fd, IPPROTO_TCP, TCP_KEEPCNT, 6))
        return {};
    return socket;
}

int connect_to(int fd, const rules::Prefix& address, std::uint16_t port)
{
    if (address.is_v4()) {
        sockaddr_in to = {};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        std::memcpy(&to.sin_addr, address.bytes().data(), sizeof to.sin_addr);
        return ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    }
    sockaddr_in6 to = {};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(port);
    std::memcpy(&to.sin6_addr, address.bytes().data(), sizeof to.sin6_addr);
    return ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to);
}

} // namespace

void Dialer::start(std::vector<rules::Prefix> addresses, std::uint16_t port)
{
    addresses_ = std::move(addresses);
    port_ = port;
    go_on();
}

void Dialer::hurry()
{
    if (has_more())
        go_on();
}

// Begins the next attempt that can be begun, and gives up when none is left.
void Dialer::go_on()
{
    while (has_more()) {
        if (begin(addresses_[next_++]))
            return;
    }
    if (attempts_.empty())
        user_.gave_up();
}

bool Dialer::begin(const rules::Prefix& address)
{
    auto attempt = std::make_unique<Attempt>();
    attempt->socket = outside_socket(address.is_v4() ? AF_INET : AF_INET6);
    if (!attempt->socket)
        return false;
    // A connection within this host is there at once, and its event is too.
    if (connect_to(attempt->socket.get(), address, port_) != 0 && errno != EINPROGRESS)
        return false;
    attempt->ready = attempt_ready;
    attempt->dialer = this;
    if (relay::watch(epoll_, attempt->socket.get(), EPOLLOUT, *attempt) != 0)
        return false;
    attempts_.push_back(std::move(attempt));
    return true;
}

void Dialer::attempt_ready(relay::Watch& self, std::uint32_t)
{
    auto& attempt = static_cast<Attempt&>(self);
    if (attempt.dialer == nullptr)
        return;
    Dialer& dialer = *attempt.dialer;
    int number = 0;
    socklen_t size = sizeof number;
    if (::getsockopt(attempt.socket.get(), SOL_SOCKET, SO_ERROR, &number, &size) != 0)
        number = errno;
    if (number == EINPROGRESS)
        return;
    if (number == 0) {
        UniqueFd socket = std::move(attempt.socket);
        dialer.stop();
        return dialer.user_.connected(std::move(socket));
    }
    dialer.drop(attempt);
    dialer.go_on();
}

void Dialer::drop(const Attempt& attempt)
{
    const auto here = std::ranges::find(attempts_, &attempt, &std::unique_ptr<Attempt>::get);
    (*here)->dialer = nullptr;
    (*here)->socket = UniqueFd();
    ended_.push_back(std::move(*here));
    attempts_.erase(here);
}

void Dialer::stop()
{
    while (!attempts_.empty())
        drop(*attempts_.back());
    next_ = addresses_.size();
}

} // namespace anchorhold::gate
