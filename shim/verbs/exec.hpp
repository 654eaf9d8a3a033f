// SPDX-License-Identifier: Apache-2.0
// exec into a run of ours.
#pragma once

#include "shim/session.hpp"

namespace anchorhold::verbs {

// Returns the exit status, or the error to report.
Result<int> exec_process(const Session& session);

} // namespace anchorhold::verbs
