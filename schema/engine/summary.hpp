// SPDX-License-Identifier: Apache-2.0
// Writes the lines in which `doctor` sums an engine up. Pure.
#pragma once

#include "schema/engine/doctor_verdict.hpp"

#include <string>

namespace anchorhold::engine {

// Returns the runtimes of ours, each with its file: "anchorhold, anchorhold-ci in FILE; x in
// OTHER-FILE; hook FILE". Returns an empty text when there are none.
std::string runtimes_of_ours(const EngineSetup& setup);
// Returns the line that stands behind the engine's name.
std::string summary_of(const EngineSetup& setup);

} // namespace anchorhold::engine
