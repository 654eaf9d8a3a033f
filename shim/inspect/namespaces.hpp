// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/decide.hpp"
#include "shim/inspect/inspection.hpp"

#include <string>

namespace anchorhold::inspect {

// Inspects linux.namespaces.
Status inspect_namespaces(json::View config, const InspectionContext& context, Inspection& into);
// Says whether the container gets a user namespace of its own in which the host's root has no id.
// Capabilities alone would not do: /proc/sys asks for the host's root by its id (measured).
Result<bool> has_own_users(json::View config);
// Says whether the container gets a cgroup namespace of its own; one that is joined may be the
// host's.
Result<bool> has_own_cgroups(json::View config);

// Returns which kind of network namespace config.json names.
Result<GivenNetns> given_netns(json::View config);
// Returns the path of that namespace; empty when it has none, or when there is no such entry.
Result<std::string> given_netns_path(json::View config);

} // namespace anchorhold::inspect
