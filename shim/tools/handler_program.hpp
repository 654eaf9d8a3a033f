// SPDX-License-Identifier: Apache-2.0
// Finds out which program an engine runs for a runtime's name.
#pragma once

#include "schema/engine/verify.hpp"

namespace anchorhold::tools {

// Returns which program an engine runs for this runtime, and whether it is this anchorhold. The
// other facts are left empty.
engine::HandlerFacts facts_of_program(const engine::Handler& handler);

} // namespace anchorhold::tools
