// SPDX-License-Identifier: Apache-2.0
// Reads the parts of a policy that stand in a profile too. Every error names the place.
#pragma once

#include "schema/json/json.hpp"
#include "schema/policy.hpp"

#include <string_view>

namespace anchorhold {

// Reads the member, if it is there.
Status read_egress(json::View object, std::string_view name, Egress& into);
// Returns the switches that stand in `object`, laid over `base`.
Result<Switches> read_switches(json::View object, Switches base);
// Reads one member of "profiles". `switches` are the policy's.
Result<Profile> read_profile(json::View object, const Switches& switches);

} // namespace anchorhold
