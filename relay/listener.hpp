// SPDX-License-Identifier: Apache-2.0
// Sockets on the container's loopback. Never SO_REUSEPORT: a process of the same uid could join
// the group and take the agent's connections. SO_REUSEADDR only spares a restarted container the
// TIME_WAIT of its predecessor in the same namespace; two that listen still exclude each other.
#pragma once

#include "schema/unique_fd.hpp"

#include <stdint.h>

namespace anchorhold::relay {

enum class Loopback : uint8_t { v4, v6 }; // 127.0.0.1, ::1
enum class Transport : uint8_t { tcp, udp };

// A non-blocking socket bound to PORT, listening if it is TCP. 0 or an errno.
int open_listener(Loopback address, Transport transport, uint16_t port, UniqueFd& socket);

} // namespace anchorhold::relay
