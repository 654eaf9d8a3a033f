// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/decide.hpp"
#include "schema/json/json.hpp"

#include <string>
#include <vector>

namespace anchorhold::inspect {

// Returns what the engine's user may expect of the network and does not get, as far as config.json
// shows it: published ports, and no network at all beside an allow list.
Result<std::vector<std::string>> network_advice(json::View config, const Decision& decision);

} // namespace anchorhold::inspect
