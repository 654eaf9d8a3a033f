// SPDX-License-Identifier: Apache-2.0
// The throw-away containers of `verify`, below the runtimes of an engine.
#pragma once

#include "schema/engine/verify.hpp"
#include "shim/runtime/bounded_child.hpp"

#include <memory>
#include <string>

namespace anchorhold::tools {

// One for all runtimes of an engine; all is put away by put_away, which adds a
// fault for what is left, or at the latest when it is destroyed.
class Trials {
public:
    virtual ~Trials() = default;
    // Below the runtime of that name; its record is looked for in `state_path` while what was made
    // still stands, and it is put away before this returns.
    virtual engine::Trial run(const std::string& handler, const std::string& state_path) = 0;
    virtual void put_away(engine::EngineSetup& setup) = 0;
};
// `relay` is the static program that the container runs. Refused when there is no way to run one.
Result<std::unique_ptr<Trials>> trials_of(engine::Engine engine, const std::string& relay,
                                          const runtime::DeferredSignals& held);

} // namespace anchorhold::tools
