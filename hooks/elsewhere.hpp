// SPDX-License-Identifier: Apache-2.0
// A run's link and rules may be in another network namespace than ours. That happens, for example,
// when an engine that runs in a container was started anew and has other namespaces now.
#pragma once

#include "schema/record.hpp"

namespace anchorhold {

// Succeeds when that namespace has ended, and the link and rules with it. Else returns an error
// that says where they are. It knows only what we can see. The caller must know that the run has
// ended.
Status check_all_gone(const Record& record);

} // namespace anchorhold
