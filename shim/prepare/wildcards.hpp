// SPDX-License-Identifier: Apache-2.0
// Wildcards of an allow list, held against the host's list of public suffixes.
#pragma once

#include "schema/rules/allow.hpp"

#include <vector>

namespace anchorhold::prepare {

// Refuses a wildcard at or above a public suffix, unless its rule may have it. Without a list on
// this host (package publicsuffix) only single labels are known, like com.
Status check_wildcards(const std::vector<rules::AllowRule>& rules);

} // namespace anchorhold::prepare
