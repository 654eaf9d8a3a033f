// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/engine/setup.hpp"

namespace anchorhold::engine {

// The words of the engine about the runtimes it knows: nothing, or its handlers.
enum class EngineSays : bool { nothing, handlers };
// Adds a fault for each place in `file` that names us in vain. Marks the handlers that are ours by
// such a place alone.
void look_at_written(const EngineFile& file, EngineSays says, EngineSetup& setup);

} // namespace anchorhold::engine
