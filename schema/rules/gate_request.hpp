// SPDX-License-Identifier: Apache-2.0
// The gate's rules of a run, from what it asked for, what was decided, and the policy.
#pragma once

#include "schema/decide.hpp"
#include "schema/policy.hpp"
#include "schema/rules/gate_rules.hpp"

namespace anchorhold::rules {

// Returns the rules for a run that the gate serves. A run that is not filtered has its endpoints
// alone: what it asked for beyond them was severed. Refuses (invalid_policy) what the gate would
// refuse to read: handles that hold the address of a rule.
Result<GateRules> gate_rules(const Request& request, const Decision& decision,
                             const Policy& policy);

} // namespace anchorhold::rules
