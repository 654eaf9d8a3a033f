// SPDX-License-Identifier: Apache-2.0
// A Plan carried out on config.json as splices of its text (DESIGN 5). Everything outside the
// edited spots survives byte for byte; a second pass over our own output changes nothing.
#pragma once

#include "schema/json/json.hpp"
#include "schema/plan.hpp"

#include <string>
#include <vector>

namespace anchorhold::edit {

struct EditedConfig {
    std::string text;
    std::vector<std::string> removed_env;   // names, each once, in order
    std::vector<std::string> removed_caps;  // "CAP_NET_RAW"
    std::vector<std::string> removed_hooks; // paths
    std::string seccomp_obstacle;           // a void: why that profile could not be rewritten
};
// config_ambiguous when a member an edit needs has the wrong type.
Result<EditedConfig> edit_config(const json::Document& config, const Plan& plan);

} // namespace anchorhold::edit
