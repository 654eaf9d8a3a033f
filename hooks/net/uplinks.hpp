// SPDX-License-Identifier: Apache-2.0
// Finds the links over which the host's routes lead to what a run may reach. The answers come back
// over them.
#pragma once

#include "hooks/net/netlink.hpp"
#include "schema/rules/network.hpp"

#include <vector>

namespace anchorhold::net {

// Returns the indexes of the links that a route uses, if it leads to an address of the allow list.
// Returns none for a route that leads nowhere, or to the host itself. Pure.
Result<std::vector<unsigned>> links_of_route(const Message& message,
                                             const std::vector<rules::Reach>& allow);
// Asks for the routes of every table. Each link is named once.
Result<std::vector<unsigned>> uplinks(Netlink& route, const std::vector<rules::Reach>& allow);

} // namespace anchorhold::net
