// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/engine/setup.hpp"

namespace anchorhold::engine {

// Adds faults for each place in `file` that names us in vain. Handlers of ours that
// only such a place gives away are marked. Did the engine say what it knows?
enum class EngineSays : bool { nothing, handlers };
void look_at_written(const EngineFile& file, EngineSays says, EngineSetup& setup);

} // namespace anchorhold::engine
