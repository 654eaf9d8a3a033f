// SPDX-License-Identifier: Apache-2.0
// Makes the process of an exec as confined as its run. Engines take its environment from their own
// copy, so proxies come back with it, and capabilities can be asked for. Errors are invalid_request
// unless said otherwise.
#pragma once

#include "schema/plan.hpp"
#include "shim/inspect/command_user.hpp"
#include "shim/words/command_line.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::edit {

// Edits a process object, as `exec --process` takes it, in the way that `process` of config.json is
// edited.
Result<std::string> edit_process(std::string_view text, const Plan& plan);

// Returns the capabilities of a process that would void any posture outside a user namespace of its
// own ("CAP_SYS_ADMIN, CAP_BPF"); empty: none (inspect/inspection.hpp).
Result<std::string> voiding_capabilities_in(std::string_view text);

// Returns the user of a process as the host sees it without a user namespace.
Result<inspect::CommandUser> user_of_process(std::string_view text);

// Returns the process that runc makes of the bundle's config.json and its own flags when there is
// no --process (runc, exec.go, getProcess). runc must not be left to read the file, because by then
// it holds the engine's text again.
Result<std::string> process_from_flags(std::string config, const words::Invocation& call);

// Edits the words of a crun exec without --process. The --env and --cap that the plan removes are
// dropped. The plan's variables are set where some --env is left. Without any, crun takes the
// environment of the config that it keeps, and that one was edited at create. Refuses a capability
// not spelled CAP_NAME.
Result<std::vector<std::string>> edit_flags(const std::vector<std::string>& rest,
                                            const words::Invocation& call, const Plan& plan);

// Returns what crun's flags say of a process: capabilities, user and whether it may gain
// privileges. Without --user the user is the container's own, which was judged at create; it stands
// as one that is not root.
std::string process_from_crun_flags(const words::Invocation& call);

} // namespace anchorhold::edit
