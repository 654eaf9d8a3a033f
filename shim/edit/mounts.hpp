// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/plan.hpp"
#include "shim/config/splice.hpp"

namespace anchorhold {

// mounts: ours behind all others, so that none of them can cover one.
Status edit_mounts(json::View config, const Plan& plan, Edits& edits);

} // namespace anchorhold
