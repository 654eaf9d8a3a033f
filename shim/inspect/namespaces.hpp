// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/decide.hpp"
#include "shim/inspect/inspection.hpp"

#include <string>

namespace anchorhold::inspect {

// linux.namespaces
Status inspect_namespaces(json::View config, const InspectionContext& context, Inspection& into);
// Is there a user namespace that is made for this container and that the host's root has no part
// in? /proc/sys asks for the host's root by its id, not for a capability (measured).
Result<bool> has_own_users(json::View config);

// What network namespace config.json names.
Result<GivenNetns> given_netns(json::View config);
// Its path; empty where there is none, or no such namespace at all.
Result<std::string> given_netns_path(json::View config);

} // namespace anchorhold::inspect
