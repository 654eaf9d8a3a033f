// SPDX-License-Identifier: Apache-2.0
// create, run and restore of a container.
#pragma once

#include "shim/session.hpp"

namespace anchorhold::verbs {

// Creates, runs or restores the container. Returns the exit status, or the error to report.
Result<int> create_or_run(const Session& session);

} // namespace anchorhold::verbs
