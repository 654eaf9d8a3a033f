// SPDX-License-Identifier: Apache-2.0
// The container's /etc/hosts where it has no resolver: the addresses that its names had when the
// run was created.
#pragma once

#include "schema/rules/network.hpp"

#include <string>
#include <string_view>

namespace anchorhold::rules {

// Writes loopback first, then the container's own name at 127.0.1.1 (as Debian does), then a line
// for each pinned address. The own name is left out when it is no host name, or when it is
// "localhost" or a pinned name.
std::string hosts_file(const Network& network, std::string_view hostname);

} // namespace anchorhold::rules
