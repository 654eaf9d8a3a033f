// SPDX-License-Identifier: Apache-2.0
// The throw-away containers of `verify`, run with the runtimes of an engine.
#pragma once

#include "schema/engine/verify.hpp"
#include "shim/runtime/bounded_child.hpp"

#include <memory>
#include <string>

namespace anchorhold::tools {

// Runs throw-away containers for all runtimes of one engine. What was made for all of them is
// removed by put_away or, at the latest, when this is destroyed.
class Trials {
public:
    virtual ~Trials() = default;
    // Runs a container with the runtime of that name and removes it before it returns. Its record
    // is looked for in `state_path`; a pod's while the pod still stands.
    virtual engine::Trial run(const std::string& handler, const std::string& state_path) = 0;
    // Removes what was made, and adds a fault for what is left.
    virtual void put_away(engine::EngineSetup& setup) = 0;
};
// Returns the trials of an engine. `relay` is the path of the static program that the container
// runs; `held` must outlive the result. Code delegate_failed when there is no way to run a
// container.
Result<std::unique_ptr<Trials>> trials_of(engine::Engine engine, const std::string& relay,
                                          const runtime::DeferredSignals& held);

} // namespace anchorhold::tools
