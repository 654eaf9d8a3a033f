// SPDX-License-Identifier: Apache-2.0
// update: a limit of processes behind a relay is raised by the relay's place, as create raises it.
// Resources that open devices are refused in a confined run (bundle_voids_posture), because crun
// carries out their rules.
#pragma once

#include "shim/session.hpp"

namespace anchorhold::verbs {

// Updates the container. Returns the error to report; on success the runtime stands in our place.
Result<int> update_container(const Session& session);

} // namespace anchorhold::verbs
