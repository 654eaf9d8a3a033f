// SPDX-License-Identifier: Apache-2.0
// Everything between a command line and a plan, without changing anything: read the bundle, hear
// what was asked, look at what the host can do and at what stands in the way, decide, plan.
// `create` carries the result out, `explain` prints it.
#pragma once

#include "schema/plan.hpp"
#include "schema/record.hpp"
#include "shim/config/bundle.hpp"
#include "shim/edit/config_edit.hpp"
#include "shim/inspect/endpoint_check.hpp"
#include "shim/inspect/inspection.hpp"
#include "shim/prepare/pod.hpp"
#include "shim/runtime/helpers.hpp"
#include "shim/session.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace anchorhold::prepare {

struct Prepared {
    config::Bundle bundle;
    std::optional<state::FileLock> turn; // at the bundle, while config.json is being edited
    std::string original;                // config.json as it stood
    Request request;
    Decision decision; // untouched: nothing below is filled in
    PodPlace pod;
    std::optional<std::string> mark; // an edit mark that stood in config.json
    runtime::Helpers helpers;
    std::vector<EndpointPlace> places;     // of the unix: endpoints
    std::optional<rules::Network> network; // of a sealed or filtered run
    std::string hostname;                  // the container's own name
    inspect::Inspection inspection;
    Plan plan;
    edit::EditedConfig edited;
    bool joins_pod() const { return decision.technique == Technique::pod; }
};

// The bundle of an invocation: its last --bundle, else the cwd.
std::string bundle_of(const words::Invocation& invocation);

// Refuses whatever must be refused; all of it before anything is made.
Result<Prepared> prepare(const Session& session, const std::string& bundle_path,
                         const ContainerId& id, const std::string& generation);

} // namespace anchorhold::prepare
