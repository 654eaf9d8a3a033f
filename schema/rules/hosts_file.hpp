// SPDX-License-Identifier: Apache-2.0
// The container's /etc/hosts where it has no resolver: the addresses that its names had when the
// run was created.
#pragma once

#include "schema/rules/network.hpp"

#include <string>
#include <string_view>

namespace anchorhold::rules {

// Writes the text of `given` first: the file that the container would have without us, with the
// engine's own entries in it. Where there is none, writes loopback and the container's own name at
// 127.0.1.1 (as Debian does); the own name is left out when it is no host name, or when it is
// "localhost" or a pinned name. A line follows for each pinned address that `given` does not have
// already.
std::string hosts_file(const Network& network, std::string_view hostname, std::string_view given);

} // namespace anchorhold::rules
