// SPDX-License-Identifier: Apache-2.0
// Is what the runtime mounted what the shim looked at? Between the two, whoever may write a
// directory on the way to a source can put a link to the engine's socket there.
#pragma once

#include "schema/record.hpp"

#include <sys/types.h>
#include <vector>

namespace anchorhold {

// `sources`: the root first. Without a root there is nothing to compare.
Status check_mounted(pid_t init, const std::vector<BindSource>& sources);

} // namespace anchorhold
