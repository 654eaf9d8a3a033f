// SPDX-License-Identifier: Apache-2.0
// Limits what this process may do, and sees that it ends with its parent.
#pragma once

#include "schema/error.hpp"

#include <initializer_list>

namespace anchorhold {

// Keeps those of `wanted` (CAP_*) that the process has, and drops all others for good.
Status keep_capabilities(std::initializer_list<unsigned> wanted);
// Has the kernel kill us when our parent ends. Fails when the parent is gone already.
Status die_with_parent();
// Opens the descriptors 0, 1 and 2 if they are closed, so that no file of ours gets their numbers.
// Ignores SIGPIPE, so that writing to a reader that is gone is an error and no signal.
Status settle_descriptors();

} // namespace anchorhold
