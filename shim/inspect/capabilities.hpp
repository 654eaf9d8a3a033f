// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/inspect/inspection.hpp"

#include <optional>
#include <string>

namespace anchorhold::inspect {

// Inspects process.capabilities.
Status inspect_capabilities(json::View config, Inspection& into);
// Returns the capabilities that would void any posture for a process of the host's user namespace:
// "CAP_SYS_ADMIN, CAP_BPF"; empty: none.
Result<std::string> voiding_capabilities_of(const std::optional<json::View>& process);

} // namespace anchorhold::inspect
