// SPDX-License-Identifier: Apache-2.0
// The paths that are resolved once more behind us: the runtime resolves the bundle's, and start,
// exec and delete resolve the state directory's.
#pragma once

#include "schema/json/json.hpp"
#include "shim/config/bundle.hpp"

#include <string>

namespace anchorhold::verbs {

// Refuses (invalid_request) a path of the bundle that somebody else could turn, or that leads to
// another directory than the one that was read. `path` may be relative. The bundle itself may
// belong to the container's mapped root.
Status check_bundle_place(const config::Bundle& bundle, const std::string& path, json::View config);

// Refuses (network_setup_failed) a path of the state directory that somebody else could turn. It
// need not be there.
Status check_state_place(const std::string& path);

} // namespace anchorhold::verbs
