// SPDX-License-Identifier: Apache-2.0
// The seccomp rules that are written into a profile, as JSON text.
#pragma once

#include "schema/plan.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::edit {

using Values = std::vector<std::uint32_t>; // of one argument of a system call

// The calls that make sockets of a family. A pair of some families (TIPC) speaks to nobody else,
// but asks the kernel for the family's code all the same.
extern const std::vector<std::string> socket_calls;

// Returns the families that socket(2) may go on making: those that end at the container's own
// network namespace and, unless the plan denies it, vsock.
Values kept_families(const SeccompPlan& plan);
// The protocols of AF_NETLINK that socket(2) may go on making.
extern const Values kept_protocols;
// Says whether the call is one that no rule may permit as it stands, because it goes round a
// network namespace.
bool goes_round(std::string_view call);

// Returns one rule: `calls` return errno `number`.
std::string denial(const std::vector<std::string>& calls, int number);
// Returns all denials, for a profile that permits by default.
std::vector<std::string> all_denials(const Values& kept);
// Returns rules as a JSON array.
std::string array_of(const std::vector<std::string>& rules);

} // namespace anchorhold::edit
