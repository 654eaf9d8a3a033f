// SPDX-License-Identifier: Apache-2.0
// Asks the kernel's connection tracking, through ctnetlink
// (linux/netfilter/nfnetlink_conntrack.h).
#pragma once

#include "hooks/net/netlink.hpp"
#include "schema/rules/destination.hpp"

#include <optional>

namespace anchorhold::net {

// An IPv4 tcp connection. Addresses and ports are in host byte order.
struct Connection {
    std::uint32_t from = 0;
    std::uint16_t from_port = 0;
    std::uint32_t to = 0;
    std::uint16_t to_port = 0;
};

// Makes the request for one connection, to be sent with Netlink::list over NETLINK_NETFILTER. The
// error is ENOENT when the connection is not tracked.
Step find_connection(const Connection& connection);
// Says whether the connection is tracked.
Result<bool> is_tracked(Netlink& netfilter, const Connection& connection);

// A tracked connection by tcp or udp, of either version of IP.
struct Flow {
    rules::Prefix to; // whoever answers: behind a DNAT rule, the real one
    std::uint16_t port = 0;
    bool udp = false;
    Step forget; // makes the kernel forget it; ENOENT when it has ended
};
std::vector<Step> list_connections();
// Returns nullopt for another protocol.
Result<std::optional<Flow>> read_flow(const Message& message);

} // namespace anchorhold::net
