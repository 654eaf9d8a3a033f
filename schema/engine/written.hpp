// SPDX-License-Identifier: Apache-2.0
// Finds the places of a written file at which an engine is told of us in vain. Pure.
#pragma once

#include "schema/engine/setup.hpp"

namespace anchorhold::engine {

// The source of what the engine knows.
enum class EngineSays : std::uint8_t {
    nothing,  // the engine would not say
    handlers, // the engine told its runtimes
    files,    // it is read in the same files
};
// Adds a fault for each place in `file` that names us in vain. Marks the handlers of ours that only
// such a place gives away. `main_version` is the version of containerd's main file.
void look_at_written(const EngineFile& file, EngineSays says, std::int64_t main_version,
                     EngineSetup& setup);

} // namespace anchorhold::engine
