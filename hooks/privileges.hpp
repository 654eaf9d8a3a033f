// SPDX-License-Identifier: Apache-2.0
// What this process may do, and by what it ends.
#pragma once

#include "schema/error.hpp"

#include <initializer_list>

namespace anchorhold {

// Keeps those of `wanted` (CAP_*) that it has, and nothing else, for good.
Status keep_capabilities(std::initializer_list<unsigned> wanted);
// Refuses to go on for a parent that is gone already.
Status die_with_parent();
// 0, 1 and 2 lead somewhere, so that no file of ours takes their numbers; a reader that went away
// is an error, not a signal.
Status settle_descriptors();

} // namespace anchorhold
