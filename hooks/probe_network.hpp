// SPDX-License-Identifier: Apache-2.0
// Finds out whether this host can seal and filter. It does it: it makes the very links and tables
// of a run, in a network namespace that ends with this process.
#pragma once

#include <string>

namespace anchorhold {

// Returns the answers to can_seal and can_filter, as JSON like that of probes.json. The process
// stays in that namespace.
std::string probe_network();

} // namespace anchorhold
