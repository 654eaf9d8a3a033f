// SPDX-License-Identifier: Apache-2.0
// process.env and process.capabilities, of config.json and of the process of an exec alike.
#pragma once

#include "schema/json/json.hpp"
#include "schema/plan.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace anchorhold::edit {

// What is to be set in a process that is given that environment, replacing equal names: the plan's
// variables, and where proxies stay the relay's exemption from them.
using Variables = std::vector<std::pair<std::string, std::string>>;
Variables variables_for(const std::vector<std::string>& given, const Plan& plan);
bool sets(const Variables& variables, std::string_view name);

// process.env (an array of strings) with proxies out and those set. SharedTable with the exec edit.
struct EnvEdit {
    std::vector<json::Splice> splices;
    std::vector<std::string> removed;
};
Result<EnvEdit> edit_env(json::View process, const Plan& plan);
// The five sets of process.capabilities without CAP_NET_ADMIN and CAP_NET_RAW.
struct CapsEdit {
    std::vector<json::Splice> splices;
    std::vector<std::string> removed;
};
Result<CapsEdit> edit_capabilities(json::View process);

} // namespace anchorhold::edit
