// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/plan.hpp"
#include "shim/config/splice.hpp"

namespace anchorhold::edit {

// Edits `mounts`: our mounts come behind all others, so that no other mount can cover one.
Status edit_mounts(json::View config, const Plan& plan, config::Edits& edits);

} // namespace anchorhold::edit
