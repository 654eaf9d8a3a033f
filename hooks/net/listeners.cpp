// SPDX-License-Identifier: Apache-2.0
#include "hooks/net/listeners.hpp"

#include "hooks/net/netlink_request.hpp"

#include <arpa/inet.h>
#include <array>
#include <cstring>
#include <libmnl/libmnl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <linux/inet_diag.h>
#include <linux/sock_diag.h>

namespace anchorhold::net {
namespace {

constexpr std::uint32_t listening = 1U << TCP_LISTEN;
constexpr std::uint32_t any_state = ~0U; // a bound udp socket has no state that one could ask for

ListenerQuestion question(const char* word, std::uint8_t family, std::uint8_t protocol,
                          std::uint32_t states)
{
    NetlinkRequest request(SOCK_DIAG_BY_FAMILY, NLM_F_DUMP);
    auto& body = request.add<inet_diag_req_v2>();
    body.sdiag_family = family;
    body.sdiag_protocol = protocol;
    body.idiag_states = states;
    return {word, request.finish("list " + std::string(word) + " sockets")};
}

} // namespace

std::vector<ListenerQuestion> ask_for_listeners()
{
    return {question("tcp", AF_INET, IPPROTO_TCP, listening),
            question("tcp", AF_INET6, IPPROTO_TCP, listening),
            question("udp", AF_INET, IPPROTO_UDP, any_state),
            question("udp", AF_INET6, IPPROTO_UDP, any_state)};
}

Result<Listener> read_listener(const std::string& protocol, const Message& message)
{
    const nlmsghdr* const header = header_of(message);
    inet_diag_msg socket = {};
    if (mnl_nlmsg_get_payload_len(header) < sizeof socket)
        return fail(Code::network_setup_failed, "read a socket: the message is too short");
    std::memcpy(&socket, mnl_nlmsg_get_payload(header), sizeof socket);
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (::inet_ntop(socket.idiag_family, socket.id.idiag_src, text.data(), text.size()) == nullptr)
        return fail(Code::network_setup_failed, "read a socket: unknown address family");
    const bool v6 = socket.idiag_family == AF_INET6;
    const std::string address = text.data();
    return Listener{protocol + " " + (v6 ? "[" + address + "]" : address) + ":" +
                        std::to_string(ntohs(socket.id.idiag_sport)),
                    address == "127.0.0.11"};
}

} // namespace anchorhold::net
