// SPDX-License-Identifier: Apache-2.0
// What `doctor` says of an engine in a word and a line. Pure.
#pragma once

#include "schema/engine/setup.hpp"

namespace anchorhold::engine {

enum class Standing : std::uint8_t {
    not_told,     // its configuration does not name us, which is no fault
    told,         // it names us, and nothing is wrong with that
    told_wrongly, // it names us in vain, or cannot be read
};
Standing standing_of(const EngineSetup& setup);

// "anchorhold, anchorhold-ci in FILE; x in OTHER-FILE": the runtimes of ours; empty: there are
// none.
std::string runtimes_of_ours(const EngineSetup& setup);
// The line behind the engine's name.
std::string summary_of(const EngineSetup& setup);

} // namespace anchorhold::engine
