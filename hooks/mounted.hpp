// SPDX-License-Identifier: Apache-2.0
// Checks that the runtime mounted what the shim looked at. Between the two, anybody who can write a
// directory on the way to a source can put a link to the engine's socket there.
#pragma once

#include "schema/record.hpp"

#include <sys/types.h>
#include <vector>

namespace anchorhold {

// Compares each of `sources`, of which the first is the container's root, with what is mounted in
// the mount namespace of `init`. Compares nothing, and succeeds, when the first is not the root.
Status check_mounted(pid_t init, const std::vector<BindSource>& sources);

} // namespace anchorhold
