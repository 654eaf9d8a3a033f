// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/rules/destination.hpp"

#include <vector>

namespace anchorhold::rules {

// Returns the ranges that stay closed whatever a rule or a name says: the fixed ones of the source
// file and `pool`, the policy's pool of addresses for our own links.
std::vector<Prefix> always_denied(const Prefix& pool);

} // namespace anchorhold::rules
