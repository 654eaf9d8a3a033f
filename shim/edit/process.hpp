// SPDX-License-Identifier: Apache-2.0
// The process of an exec, made as confined as its run (DESIGN 3.12). Engines take its environment
// from their own copy, so proxies come back, and capabilities can be asked for.
#pragma once

#include "schema/plan.hpp"
#include "shim/words/command_line.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::edit {

// A process object as `exec --process` takes it, edited as process of config.json is.
Result<std::string> edit_process(std::string_view text, const Plan& plan);

// What of a process would void any posture but in a user namespace of its own: inspection.hpp.
Result<std::string> voiding_capabilities_in(std::string_view text);

// The process that runc makes of the bundle's config.json and its own flags when there is no
// --process (runc, exec.go, getProcess). The bundle's file is the engine's again by then, so runc
// must not be left to read it.
Result<std::string> process_from_flags(std::string config, const words::Invocation& call);

// The words of a crun exec without --process: --env and --cap that the plan removes are dropped,
// and the plan's variables are set where some --env is left; without any, crun takes the
// environment of the config it keeps, which was edited at create. Refuses a capability not spelled
// CAP_NAME.
Result<std::vector<std::string>> edit_flags(const std::vector<std::string>& rest,
                                            const words::Invocation& call, const Plan& plan);

// The capabilities of those flags, as a process that holds them.
std::string process_with_caps(const words::Invocation& call);

} // namespace anchorhold::edit
