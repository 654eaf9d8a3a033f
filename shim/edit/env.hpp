// SPDX-License-Identifier: Apache-2.0
// Edits process.env, in config.json and in the process of an exec. Errors have the code of the
// document.
#pragma once

#include "schema/json/json.hpp"
#include "schema/plan.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace anchorhold::edit {

// The variables to set in a process with the environment `given`; they replace equal names. They
// are the plan's variables and, where proxies stay, NO_PROXY with the relay's addresses in it.
using Variables = std::vector<std::pair<std::string, std::string>>;
Variables variables_for(const std::vector<std::string>& given, const Plan& plan);
// Says whether the name is among the variables.
bool sets(const Variables& variables, std::string_view name);

// Edits process.env (an array of strings): takes proxies out and sets the plan's variables. An exec
// uses it too.
struct EnvEdit {
    std::vector<json::Splice> splices;
    std::vector<std::string> removed; // names, each once
};
Result<EnvEdit> edit_env(json::View process, const Plan& plan);

} // namespace anchorhold::edit
