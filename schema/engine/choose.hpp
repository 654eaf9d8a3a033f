// SPDX-License-Identifier: Apache-2.0
// The profiles of the policy that an engine is told of. Pure.
#pragma once

#include "schema/engine/tell.hpp"
#include "schema/policy.hpp"

#include <string>
#include <vector>

namespace anchorhold::engine {

// Chooses the runtimes: the profiles asked for, or all that are of use to the engine, and the
// policy's default. Below an engine of pods the default gets none where its pods are refused.
Status choose_runtimes(const Policy& policy, const std::vector<std::string>& asked,
                       Telling& telling);
// Returns a line for each chosen profile whose pods are refused.
std::string notes_on(const Policy& policy, const Telling& telling);

} // namespace anchorhold::engine
