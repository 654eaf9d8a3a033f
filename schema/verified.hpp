// SPDX-License-Identifier: Apache-2.0
// The words of Record::verified: what the kernel answered when it was asked.
#pragma once

#include <string_view>

namespace anchorhold {

namespace verified {
constexpr std::string_view netns = "netns";           // not the host's, not another run's
constexpr std::string_view drop_table = "drop-table"; // read back as planned
constexpr std::string_view links = "links";           // loopback, what was planned, no more
constexpr std::string_view sources = "sources";       // mounted is what was looked at
constexpr std::string_view listeners = "listeners";   // nobody waits at a port from outside
constexpr std::string_view host_rules = "host-rules"; // read back as planned
constexpr std::string_view route = "route";           // packets to the container go there alone
} // namespace verified

} // namespace anchorhold
