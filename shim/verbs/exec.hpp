// SPDX-License-Identifier: Apache-2.0
// exec into a run of ours.
#pragma once

#include "shim/session.hpp"

namespace anchorhold::verbs {

// Executes in the container. Returns the error to report; on success the runtime stands in our
// place.
Result<int> exec_process(const Session& session);

} // namespace anchorhold::verbs
