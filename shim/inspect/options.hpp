// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/inspect/inspection.hpp"

namespace anchorhold::inspect {

// Inspects the runtime's own options, which may undo what config.json says.
void inspect_options(const words::Invocation& call, Inspection& into);

} // namespace anchorhold::inspect
