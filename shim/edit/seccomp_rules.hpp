// SPDX-License-Identifier: Apache-2.0
// The seccomp rules that are written into a profile (DESIGN 8a), as JSON text.
#pragma once

#include "schema/plan.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::edit {

using Families = std::vector<std::uint32_t>;

// What socket(2) goes on making: families that end at the container's own network namespace.
Families kept_families(const SeccompPlan& plan);
// Is this one of the system calls that no rule may permit as it stands?
bool goes_round(std::string_view call);

// One rule: `calls` return errno `number`.
std::string denial(const std::vector<std::string>& calls, int number);
// All of them, for a profile that permits by default.
std::vector<std::string> all_denials(const Families& kept);
std::string array_of(const std::vector<std::string>& rules);

} // namespace anchorhold::edit
