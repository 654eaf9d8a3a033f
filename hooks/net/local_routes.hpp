// SPDX-License-Identifier: Apache-2.0
// Addresses and routes of lo, in a namespace that has nothing else. Pure: it only makes messages.
#pragma once

#include "hooks/net/netlink.hpp"
#include "schema/rules/destination.hpp"

#include <vector>

namespace anchorhold::net {

// Gives lo the first address of the handles, which makes their whole range local. Without an
// address besides 127.0.0.1, getaddrinfo(3) for IPv4 with AI_ADDRCONFIG fails for every name, and
// even for "127.0.0.1".
Step give_lo_an_address(const rules::Prefix& handles);
// Does the same and adds a local default route, which makes every address lo's: for a run that is
// served by a gate. The route has that address as its source: without one, a client and the server
// it wants have the same address, and refusals never arrive.
std::vector<Step> make_v4_local(const rules::Prefix& handles);
// Adds the local default route for IPv6. Where the kernel refuses, there is no IPv6, and packets
// find no route.
Step make_v6_local();

} // namespace anchorhold::net
