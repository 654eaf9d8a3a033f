// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/engine/verify.hpp"
#include "shim/runtime/bounded_child.hpp"

#include <string>

namespace anchorhold {

// `file`: the configuration's main file where it is not the usual one; podman is
// told by a variable.
EngineSetup gather_setup(Engine engine, const std::string& file, const HeldEnd& held);

} // namespace anchorhold
