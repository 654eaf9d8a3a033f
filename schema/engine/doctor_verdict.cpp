// SPDX-License-Identifier: Apache-2.0
#include "schema/engine/doctor_verdict.hpp"

#include <algorithm>

namespace anchorhold::engine {

Standing standing_of(const EngineSetup& setup)
{
    if (setup.faults.empty())
        return Standing::told;
    const bool none_named = std::ranges::all_of(
        setup.faults, [](const Fault& fault) { return fault.kind == FaultKind::no_handler; });
    return none_named ? Standing::not_told : Standing::told_wrongly;
}

} // namespace anchorhold::engine
