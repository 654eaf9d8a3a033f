// SPDX-License-Identifier: Apache-2.0
// start: the second gate for a run that was created.
#pragma once

#include "shim/session.hpp"

namespace anchorhold::verbs {

// Starts the container. Returns the error to report; on success the runtime stands in our place.
Result<int> start_container(const Session& session);

} // namespace anchorhold::verbs
