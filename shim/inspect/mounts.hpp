// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/inspect/inspection.hpp"

namespace anchorhold::inspect {

// Inspects root, mounts and linux.rootfsPropagation.
Status inspect_mounts(json::View config, const InspectionContext& context, Inspection& into);

} // namespace anchorhold::inspect
