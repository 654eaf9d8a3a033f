// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/engine/setup.hpp"

namespace anchorhold::engine {

// Adds faults for each place in `file` that names us in vain. Handlers of ours that
// only such a place gives away are marked. `EngineSays`: did the engine say what it knows, or is
// that read in the same files? `main_version` is that of containerd's main file.
enum class EngineSays : std::uint8_t { nothing, handlers, files };
void look_at_written(const EngineFile& file, EngineSays says, std::int64_t main_version,
                     EngineSetup& setup);

} // namespace anchorhold::engine
