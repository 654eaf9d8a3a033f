// SPDX-License-Identifier: Apache-2.0
// Judges an engine for `doctor`: whether its configuration tells it of us. Pure.
#pragma once

#include "schema/engine/setup.hpp"

namespace anchorhold::engine {

enum class Standing : std::uint8_t {
    not_told,     // its configuration does not name us, which is no fault
    told,         // it names us, and nothing is wrong with that
    told_wrongly, // it names us in vain, or cannot be read
};
Standing standing_of(const EngineSetup& setup);

} // namespace anchorhold::engine
