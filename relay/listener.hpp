// SPDX-License-Identifier: Apache-2.0
// Sockets on the container's loopback. SO_REUSEPORT is never set: a process of the same uid could
// join the group and take the agent's connections. SO_REUSEADDR is set: with it a restarted
// container need not wait for the TIME_WAIT of its predecessor in the same namespace. Two listening
// sockets still exclude each other.
#pragma once

#include "schema/unique_fd.hpp"

#include <stdint.h>

namespace anchorhold::relay {

enum class Loopback : uint8_t {
    v4, // 127.0.0.1
    v6, // ::1
};
enum class Transport : uint8_t { tcp, udp };

// Opens a non-blocking socket bound to PORT, which listens if it is TCP. Returns 0 or an errno.
int open_listener(Loopback address, Transport transport, uint16_t port, UniqueFd& socket);

} // namespace anchorhold::relay
