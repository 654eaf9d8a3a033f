// SPDX-License-Identifier: Apache-2.0
// Finds out whether this host can seal, filter and gate. It does it: it makes the very links and
// tables of a run, in a network namespace that ends with this process.
#pragma once

#include <string>

namespace anchorhold {

// Returns the answers to can_seal, can_filter and can_gate, as JSON like that of probes.json. The
// process stays in that namespace.
std::string probe_network();

} // namespace anchorhold
