// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::inspect {

// Returns the names in a text of /proc/PID/net/dev, in its order.
std::vector<std::string> interfaces_in(std::string_view table);

} // namespace anchorhold::inspect
