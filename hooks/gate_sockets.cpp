// SPDX-License-Identifier: Apache-2.0
#include "hooks/gate_sockets.hpp"

#include "schema/rules/gate_rules.hpp"

#include <cerrno>
#include <netinet/in.h>
#include <sys/socket.h>

#include <linux/in6.h>

namespace anchorhold {
namespace {

constexpr int gate_backlog = 4096;

struct GateSocket {
    int family = AF_INET;
    int type = SOCK_STREAM;
    bool is_transparent = true;
    sockaddr_storage address = {};
    socklen_t size = 0;
};

GateSocket at_v4(int type, std::uint32_t address, std::uint16_t port = rules::gate_port)
{
    GateSocket socket{
        .type = type, .is_transparent = port == rules::gate_port, .size = sizeof(sockaddr_in)};
    auto& to = reinterpret_cast<sockaddr_in&>(socket.address);
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(address);
    return socket;
}

GateSocket at_v6_loopback(std::uint16_t port = rules::gate_port)
{
    GateSocket socket{.family = AF_INET6,
                      .is_transparent = port == rules::gate_port,
                      .size = sizeof(sockaddr_in6)};
    auto& to = reinterpret_cast<sockaddr_in6&>(socket.address);
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(port);
    to.sin6_addr = in6addr_loopback;
    return socket;
}

Result<UniqueFd> open_gate_socket(const GateSocket& wanted, const std::string& doing)
{
    constexpr int on = 1;
    const bool is_v4 = wanted.family == AF_INET;
    UniqueFd socket(::socket(wanted.family, wanted.type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket ||
        (wanted.is_transparent &&
         ::setsockopt(socket.get(), is_v4 ? SOL_IP : SOL_IPV6,
                      is_v4 ? IP_TRANSPARENT : IPV6_TRANSPARENT, &on, sizeof on) != 0) ||
        // What is accepted inherits it. Without it a server inside that wants every address at a
        // port would be refused by each connection of the gate at that port, for a minute after its
        // end. Of two listeners the second is refused all the same.
        (wanted.type == SOCK_STREAM &&
         ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0) ||
        ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&wanted.address), wanted.size) !=
            0 ||
        (wanted.type == SOCK_STREAM && ::listen(socket.get(), gate_backlog) != 0))
        return fail_errno(doing, errno);
    return socket;
}

// Says whether there is no IPv6 to capture: no support, or none on lo.
bool has_no_v6(int number)
{
    return number == EAFNOSUPPORT || number == EADDRNOTAVAIL;
}

// Opens an IPv6 socket, or none where there is no IPv6.
Result<UniqueFd> open_if_v6(const GateSocket& wanted, const std::string& doing)
{
    auto socket = open_gate_socket(wanted, doing);
    if (!socket && has_no_v6(socket.error().number))
        return UniqueFd();
    return socket;
}

Status open_endpoints(const std::vector<std::uint16_t>& ports, GateSockets& sockets)
{
    for (std::size_t i = 0; i < ports.size(); ++i) {
        const std::string doing = "listen for an endpoint at port " + std::to_string(ports[i]);
        AH_TRY(UniqueFd v4, open_gate_socket(at_v4(SOCK_STREAM, INADDR_LOOPBACK, ports[i]), doing));
        AH_TRY(UniqueFd v6, open_if_v6(at_v6_loopback(ports[i]), doing));
        sockets.endpoints.emplace_back(i, std::move(v4));
        if (v6)
            sockets.endpoints.emplace_back(i, std::move(v6));
    }
    return {};
}

} // namespace

Result<GateSockets> open_gate_sockets(const rules::Prefix& handles,
                                      const std::vector<std::uint16_t>& ports)
{
    GateSockets sockets;
    AH_TRY(sockets.names, open_gate_socket(at_v4(SOCK_DGRAM, rules::lo_address(handles)),
                                           "open the gate's socket for names"));
    AH_TRY(sockets.capture4, open_gate_socket(at_v4(SOCK_STREAM, rules::capture_address(handles)),
                                              "open the gate's listener"));
    AH_TRY(sockets.capture6, open_if_v6(at_v6_loopback(), "open the gate's IPv6 listener"));
    AH_CHECK(open_endpoints(ports, sockets));
    return sockets;
}

} // namespace anchorhold
