// SPDX-License-Identifier: Apache-2.0
// The throw-away container of `ctr run --runc-binary`, where the call names the program.
#pragma once

#include "shim/tools/verify_trial.hpp"

namespace anchorhold::tools {

// Runs it with ctr(1), with `program` as its runtime and the static `relay` as all that is in it.
// It has a containerd namespace of its own. What of it could not be removed is a fault.
engine::Trial try_ctr(const std::string& program, const std::string& relay,
                      const std::string& state_path, const runtime::DeferredSignals& held,
                      engine::EngineSetup& setup);

} // namespace anchorhold::tools
