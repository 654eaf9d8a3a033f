// SPDX-License-Identifier: Apache-2.0
// Can this host seal and filter? Found out by doing it: the very links and tables of a run, in a
// network namespace that ends with this process.
#pragma once

#include <string>

namespace anchorhold {

// can_seal and can_filter as probes.json writes answers. Leaves the process in that namespace.
std::string probe_network();

} // namespace anchorhold
