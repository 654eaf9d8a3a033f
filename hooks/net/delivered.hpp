// SPDX-License-Identifier: Apache-2.0
// Reads which addresses a namespace delivers to itself, beside those of its links. Pure.
#pragma once

#include "hooks/net/netlink.hpp"
#include "schema/rules/destination.hpp"

#include <optional>
#include <vector>

namespace anchorhold::net {

// Makes the requests that list every address that the namespace delivers to itself, from all its
// tables: its own, ranges of type local, and broadcast and anycast addresses.
std::vector<Step> list_delivered();
// Reads one of them. Returns nullopt for another route, and for one as wide as a default route: a
// transparent proxy makes such a route of type local for marked packets only.
Result<std::optional<rules::Prefix>> read_delivered(const Message& message);

} // namespace anchorhold::net
