// SPDX-License-Identifier: Apache-2.0
// From a bundle to a plan, without changing anything, in four stages that each return a value:
//
//   read_asked   what our annotations in config.json ask for                asked.hpp
//   choose       profile, place in a pod, decision                          chosen.hpp
//   look         what stands on this host and in the bundle                 seen.hpp
//   plan         the plan, and config.json as it will stand                 planned.hpp
//
// `create` carries the result out, `explain` prints it, `check` asks it about a destination.
#pragma once

#include "shim/prepare/planned.hpp"

#include <string>

namespace anchorhold::prepare {

struct PreparedRun {
    AskedRun asked;
    ChosenRun chosen; // where its decision is `untouched`, the stages behind it stay empty
    SeenRun seen;
    PlannedRun planned;
    bool is_untouched() const { return chosen.decision.untouched; }
};

// Returns the bundle's path that a command line names: its last --bundle, else the cwd.
std::string bundle_of(const words::Invocation& invocation);

// Goes through all stages for the bundle at `path`, which may be relative.
Result<PreparedRun> prepare_bundle(const Session& session, const std::string& path,
                                   const ContainerId& id, const std::string& generation);

// Goes through the stages behind the first. Refuses whatever must be refused; all of it before
// anything is made.
Result<PreparedRun> prepare(const Session& session, AskedRun asked, const ContainerId& id,
                            const std::string& generation);

} // namespace anchorhold::prepare
