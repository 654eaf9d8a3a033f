// SPDX-License-Identifier: Apache-2.0
// The process of an exec, made as confined as its run (DESIGN 3.12). Engines take its environment
// from their own copy, so proxies come back, and capabilities can be asked for.
#pragma once

#include "schema/plan.hpp"
#include "shim/command_line.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace anchorhold {

// A process object as `exec --process` takes it, edited as process of config.json is.
Result<std::string> edit_process(std::string_view text, const Plan& plan);

// The process that runc makes of the bundle's config.json and its own flags when there is no
// --process (runc, exec.go, getProcess). The bundle's file is the engine's again by then, so runc
// must not be left to read it.
Result<std::string> process_from_flags(std::string config, const Invocation& call);

// The --env and --cap of an exec that fall to the plan; crun applies the others to the process it
// keeps, which was edited at create. Refuses a capability that is not spelled CAP_NAME.
Result<std::vector<OptionAt>> flags_to_drop(const Invocation& call, const Plan& plan);

} // namespace anchorhold
