// SPDX-License-Identifier: Apache-2.0
// The throw-away containers of podman and Docker, and the steps of their builds.
#pragma once

#include "shim/tools/verify_trial.hpp"

namespace anchorhold::tools {

// Returns the trials of podman or Docker, whose command is `program`. All that they make bears
// `mark` in its name. Code delegate_failed when they cannot make their image.
Result<std::unique_ptr<Trials>> image_trials(engine::Engine engine, const std::string& program,
                                             const std::string& mark, const std::string& relay,
                                             const runtime::DeferredSignals& held);

} // namespace anchorhold::tools
