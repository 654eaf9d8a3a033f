// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/rules/destination.hpp"

#include <vector>

namespace anchorhold::prepare {

// Returns the addresses of this host's links as of now, the broadcast ones included. The kernel's
// tables ask for them at each packet (`fib daddr type local`).
Result<std::vector<rules::Prefix>> own_addresses();

} // namespace anchorhold::prepare
