// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/inspect/inspection.hpp"

#include <optional>
#include <string>

namespace anchorhold::inspect {

// process.capabilities
Status inspect_capabilities(json::View config, Inspection& into);
// "CAP_SYS_ADMIN, CAP_BPF": what a process of the host's user namespace holds that would void any
// posture; empty when nothing does.
Result<std::string> voiding_capabilities_of(const std::optional<json::View>& process);

} // namespace anchorhold::inspect
