// SPDX-License-Identifier: Apache-2.0
// The kernel's connection tracking, by ctnetlink (linux/netfilter/nfnetlink_conntrack.h).
#pragma once

#include "hooks/net/netlink.hpp"

namespace anchorhold::net {

struct Connection { // IPv4 tcp; addresses and ports in host byte order
    std::uint32_t from = 0;
    std::uint16_t from_port = 0;
    std::uint32_t to = 0;
    std::uint16_t to_port = 0;
};

// Sent with Netlink::list over NETLINK_NETFILTER. What is not tracked is ENOENT.
Step find_connection(const Connection& connection);
Result<bool> is_tracked(Netlink& netfilter, const Connection& connection);

} // namespace anchorhold::net
