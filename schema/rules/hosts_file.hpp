// SPDX-License-Identifier: Apache-2.0
// The container's /etc/hosts where it has no resolver: what its names were when it was created.
#pragma once

#include "schema/rules/network.hpp"

#include <string>
#include <string_view>

namespace anchorhold::rules {

// Loopback first, then the container's own name (127.0.1.1, as Debian does it; left out when it is
// no host name or one of those pinned), then a line per address.
std::string hosts_file(const Network& network, std::string_view hostname);

} // namespace anchorhold::rules
