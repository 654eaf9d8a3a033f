// SPDX-License-Identifier: Apache-2.0
// Carries out a Plan on config.json as splices of its text. Everything outside the edited spots
// survives byte for byte. Reading all of it and writing it anew has broken things for others:
// clone3 rules of seccomp, big integers, members that are newer than the program. A second pass
// over our own output changes nothing.
#pragma once

#include "schema/json/json.hpp"
#include "schema/plan.hpp"

#include <string>
#include <vector>

namespace anchorhold::edit {

// The edited text, and what was taken out of it.
struct EditedConfig {
    std::string text;
    std::vector<std::string> removed_env;   // names, each once, in order
    std::vector<std::string> removed_caps;  // "CAP_NET_RAW"
    std::vector<std::string> removed_hooks; // paths
    // Why the seccomp profile could not be rewritten (a void); empty: it could.
    std::string seccomp_obstacle;
};
// Returns the edited config.json. Code config_ambiguous when a member that an edit needs has the
// wrong type.
Result<EditedConfig> edit_config(const json::Document& config, const Plan& plan);

} // namespace anchorhold::edit
