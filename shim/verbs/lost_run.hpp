// SPDX-License-Identifier: Apache-2.0
// A container that we made and whose record is gone.
#pragma once

#include "shim/session.hpp"

namespace anchorhold::verbs {

// Refuses a container that bears our mark in what the runtime keeps of it, for a call that found no
// record: the state directory was deleted under a live run, or another --ah-state is asked. Without
// the record nobody knows what the run was promised. Code network_setup_failed.
Status refuse_lost_run(const Session& session);

} // namespace anchorhold::verbs
