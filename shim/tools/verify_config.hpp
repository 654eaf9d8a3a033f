// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/engine/verify.hpp"
#include "shim/runtime/bounded_child.hpp"

#include <string>

namespace anchorhold::tools {

// `file`: the configuration's main file where it is not the usual one; podman is
// told by a variable.
engine::EngineSetup gather_setup(engine::Engine engine, const std::string& file,
                                 const runtime::DeferredSignals& held);

} // namespace anchorhold::tools
