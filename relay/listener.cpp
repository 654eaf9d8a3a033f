// SPDX-License-Identifier: Apache-2.0
#include "relay/listener.hpp"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace anchorhold::relay {
namespace {

int bind_loopback(int fd, Loopback address, uint16_t port)
{
    sockaddr_in v4 = {};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr_in6 v6 = {};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    v6.sin6_addr.s6_addr[15] = 1;
    return address == Loopback::v4 ? bind(fd, reinterpret_cast<const sockaddr*>(&v4), sizeof v4)
                                   : bind(fd, reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
}

} // namespace

int open_listener(Loopback address, Transport transport, uint16_t port, UniqueFd& socket)
{
    constexpr int backlog = 4096;
    constexpr int on = 1;
    const int family = address == Loopback::v4 ? AF_INET : AF_INET6;
    const bool is_tcp = transport == Transport::tcp;
    const int type = (is_tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC;
    UniqueFd opened(::socket(family, type, 0));
    if (!opened)
        return errno;
    if (is_tcp && setsockopt(opened.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0)
        return errno;
    if (bind_loopback(opened.get(), address, port) != 0)
        return errno;
    if (is_tcp && listen(opened.get(), backlog) != 0)
        return errno;
    socket = UniqueFd(opened.release());
    return 0;
}

} // namespace anchorhold::relay
