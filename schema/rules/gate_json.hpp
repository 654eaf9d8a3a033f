// SPDX-License-Identifier: Apache-2.0
// The gate's rules as JSON inside of another document: a run's record.
#pragma once

#include "schema/json/json.hpp"
#include "schema/rules/gate_rules.hpp"

namespace anchorhold::rules {

Result<GateRules> read_gate_rules(json::View root);
void write_gate_rules(json::Writer& out, const GateRules& rules);

} // namespace anchorhold::rules
