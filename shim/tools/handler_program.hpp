// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/engine/verify.hpp"

namespace anchorhold::tools {

// Returns which program an engine runs below this runtime, and whether it is this anchorhold; the
// other facts are left empty.
engine::HandlerFacts facts_of_program(const engine::Handler& handler);

} // namespace anchorhold::tools
