// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/rules/destination.hpp"

#include <vector>

namespace anchorhold::rules {

// DESIGN 4, "Always denied": whatever a rule or a name says. The pool is the policy's own.
std::vector<Prefix> always_denied(const Prefix& pool);

} // namespace anchorhold::rules
