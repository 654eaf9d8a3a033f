// SPDX-License-Identifier: Apache-2.0
// The sockets of a gate, which are opened inside and served from outside. They are transparent, so
// that they get what was sent to any address (CAP_NET_ADMIN over the namespace). None shares its
// port: SO_REUSEADDR and SO_REUSEPORT are not set, so a socket of the container's is EADDRINUSE.
#pragma once

#include "schema/error.hpp"
#include "schema/rules/destination.hpp"
#include "schema/unique_fd.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace anchorhold {

struct GateSockets {
    UniqueFd names;    // UDP, at lo's own address
    UniqueFd capture4; // TCP, listening
    UniqueFd capture6; // none where the kernel has no IPv6
    // The listeners of endpoints, each with its endpoint's place in the list: at 127.0.0.1, and at
    // ::1 where there is IPv6.
    std::vector<std::pair<std::size_t, UniqueFd>> endpoints;
};
// Opens them in the network namespace that this process is in. `ports` are those at which the
// endpoints are reached.
Result<GateSockets> open_gate_sockets(const rules::Prefix& handles,
                                      const std::vector<std::uint16_t>& ports = {});

} // namespace anchorhold
