// SPDX-License-Identifier: Apache-2.0
// The words of Record::verified: the kernel's answers to what was checked.
#pragma once

#include <string_view>

namespace anchorhold {

namespace verified {
constexpr std::string_view netns = "netns";           // not the host's, and not another run's
constexpr std::string_view drop_table = "drop-table"; // read back as planned
constexpr std::string_view links = "links";         // loopback and what was planned, no other link
constexpr std::string_view sources = "sources";     // what was mounted is what the shim looked at
constexpr std::string_view listeners = "listeners"; // no process waits at a port from outside
constexpr std::string_view host_rules = "host-rules"; // read back as planned
constexpr std::string_view gate = "gate";   // a strange name and an unused address lead nowhere
constexpr std::string_view route = "route"; // packets to the container go to its link alone
} // namespace verified

} // namespace anchorhold
