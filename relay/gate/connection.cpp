// SPDX-License-Identifier: Apache-2.0
#include "relay/gate/connection.hpp"

#include "relay/gate/gate.hpp"
#include "relay/gate/hello.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

namespace anchorhold::gate {
namespace {

bool is_same_name(const std::string& sent, const std::string& name)
{
    return std::ranges::equal(sent, name, [](char a, char b) {
        return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
    });
}

// Returns how many bytes have come, read or not; 0: the kernel does not say.
std::uint64_t bytes_from(int fd)
{
    struct { // as the kernel has it since 4.2; the C library's ends earlier
        tcp_info old;
        std::uint64_t pacing, most_pacing, acked, received;
    } info = {};
    static_assert(sizeof(tcp_info) == 104);
    socklen_t size = sizeof info;
    if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return 0;
    return info.received;
}

} // namespace

void Connection::resolved(const Resolved& resolved)
{
    gate.dial(*this, resolved);
}

void Connection::connected(UniqueFd socket)
{
    gate.join(*this, std::move(socket));
}

void Connection::gave_up()
{
    gate.refuse(*this, Refusal::unreachable);
}

Look look_at_hello(Connection& connection)
{
    static std::array<std::uint8_t, most_hello> bytes;
    const ssize_t got =
        ::recv(connection.client.fd, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
    if (got < 0)
        return errno == EAGAIN ? Look::nothing : Look::refused;
    if (got == 0)
        return Look::passes; // it has closed without a byte
    const auto sent = std::span(bytes).first(static_cast<std::size_t>(got));
    const Hello hello = read_hello(connection.again ? without_change(sent) : sent);
    switch (hello.kind) {
    case Hello::Kind::other: return connection.again ? Look::refused : Look::passes;
    case Hello::Kind::bad: return Look::refused;
    case Hello::Kind::unfinished: {
        const bool is_all = (connection.client.seen & EPOLLRDHUP) != 0; // no more will come
        return is_all ? Look::refused : Look::unfinished;
    }
    case Hello::Kind::hello: break;
    }
    if (connection.rule->tls == rules::Tls::no_ech && hello.has_ech)
        return Look::refused;
    connection.hello_size = hello.size;
    return hello.server_name.empty() || is_same_name(hello.server_name, connection.name)
               ? Look::passes
               : Look::refused;
}

Look look_at_answer(const Connection& connection)
{
    std::array<std::uint8_t, 64> bytes;
    const ssize_t got =
        ::recv(connection.broker.fd, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return Look::nothing;
    if (got <= 0)
        return Look::passes; // whoever reads next is told
    const auto asks = asks_again(std::span(bytes).first(static_cast<std::size_t>(got)));
    if (!asks)
        return (connection.broker.seen & EPOLLRDHUP) != 0 ? Look::passes : Look::unfinished;
    if (!*asks)
        return Look::passes;
    return bytes_from(connection.client.fd) == connection.hello_size ? Look::again : Look::refused;
}

std::size_t unsent(const relay::Stream& stream)
{
    return (stream.up.end - stream.up.begin) + (stream.down.end - stream.down.begin);
}

} // namespace anchorhold::gate
