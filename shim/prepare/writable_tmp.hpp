// SPDX-License-Identifier: Apache-2.0
// Checks whether the command could write /tmp. Agents that cannot fail silently: one known CLI
// prints nothing and exits 0. That is worth a line of advice in the record, and never a refusal.
#pragma once

#include "schema/json/json.hpp"
#include "shim/inspect/command_user.hpp"
#include "shim/inspect/endpoint_check.hpp"

#include <optional>
#include <string>

namespace anchorhold::prepare {

// Returns the advice; nothing when /tmp looks writable or cannot be judged from outside.
std::optional<std::string> tmp_advice(json::View config, const std::string& rootfs,
                                      const inspect::CommandUser& user);

} // namespace anchorhold::prepare
