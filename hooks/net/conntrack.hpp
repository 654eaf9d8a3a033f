// SPDX-License-Identifier: Apache-2.0
// Asks the kernel's connection tracking, through ctnetlink
// (linux/netfilter/nfnetlink_conntrack.h).
#pragma once

#include "hooks/net/netlink.hpp"

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

} // namespace anchorhold::net
