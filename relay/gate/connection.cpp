// SPDX-License-Identifier: Apache-2.0
#include "relay/gate/connection.hpp"

#include "relay/gate/gate.hpp"
#include "relay/gate/hello.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/socket.h>

namespace anchorhold::gate {
namespace {

bool is_same_name(const std::string& sent, const std::string& name)
{
    return std::ranges::equal(sent, name, [](char a, char b) {
        return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
    });
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

Look look_at_hello(int fd, std::uint16_t seen, rules::Tls tls, const std::string& name)
{
    static std::array<std::uint8_t, most_hello> bytes;
    const ssize_t got = ::recv(fd, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
    if (got < 0)
        return errno == EAGAIN ? Look::nothing : Look::refused;
    if (got == 0)
        return Look::passes; // it has closed without a byte
    const Hello hello = read_hello(std::span(bytes).first(static_cast<std::size_t>(got)));
    switch (hello.kind) {
    case Hello::Kind::other: return Look::passes;
    case Hello::Kind::bad: return Look::refused;
    case Hello::Kind::unfinished:
        return (seen & EPOLLRDHUP) != 0 ? Look::refused : Look::unfinished; // no more will come
    case Hello::Kind::hello: break;
    }
    if (tls == rules::Tls::no_ech && hello.has_ech)
        return Look::refused;
    return hello.server_name.empty() || is_same_name(hello.server_name, name) ? Look::passes
                                                                              : Look::refused;
}

std::size_t unsent(const relay::Stream& stream)
{
    return (stream.up.end - stream.up.begin) + (stream.down.end - stream.down.begin);
}

} // namespace anchorhold::gate
