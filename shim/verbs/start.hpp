// SPDX-License-Identifier: Apache-2.0
// start: the second gate of a run that was created.
#pragma once

#include "shim/session.hpp"

namespace anchorhold::verbs {

// Returns the exit status, or the error to report.
Result<int> start_container(const Session& session);

} // namespace anchorhold::verbs
