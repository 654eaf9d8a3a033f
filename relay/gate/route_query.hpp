// SPDX-License-Identifier: Apache-2.0
// The kernel's answer to where a packet would go. An address of the host itself, a broadcast or
// anycast address may look like any other; only the kernel knows.
#pragma once

#include "schema/error.hpp"
#include "schema/rules/destination.hpp"
#include "schema/unique_fd.hpp"

namespace anchorhold::gate {

class RouteQuery {
public:
    // Opens the netlink socket, in the network namespace from which the gate dials.
    Status open();
    // Returns whether the address lies outside this host: its route is unicast. False as well where
    // there is no route, or no answer.
    bool leads_outside(const rules::Prefix& address);

private:
    UniqueFd socket_;
    std::uint32_t sequence_ = 0;
};

} // namespace anchorhold::gate
