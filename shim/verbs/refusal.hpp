// SPDX-License-Identifier: Apache-2.0
// Leaves the reason of a refusal where `show` finds it: engines show their users little of it.
#pragma once

#include "hooks/state/state_dir.hpp"
#include "schema/run_key.hpp"
#include "shim/session.hpp"

#include <string>

namespace anchorhold::verbs {

// Writes the last record of a run that was refused before anything was made. Errors are passed
// over: the refusal itself is told on standard error as well.
void leave_refusal(const Session& session, const state::StateDir& state, const ContainerId& id,
                   const std::string& generation, const Error& error);

} // namespace anchorhold::verbs
