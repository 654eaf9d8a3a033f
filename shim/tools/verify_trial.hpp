// SPDX-License-Identifier: Apache-2.0
// The throw-away containers of `verify`, run with the runtimes of an engine.
#pragma once

#include "schema/engine/verify.hpp"
#include "shim/runtime/bounded_child.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace anchorhold::tools {

constexpr std::chrono::seconds for_a_run(60);
constexpr std::chrono::seconds for_putting_away(60);
constexpr std::size_t most_relay = std::size_t{16} * 1024 * 1024;    // bytes
constexpr std::string_view off_annotation = "dev.anchorhold.egress"; // "off": no broker, no network

// What starts the container.
enum class Start : std::uint8_t {
    run,       // the engine's own command for it
    build,     // a step of a build; Docker's classic builder
    build_kit, // a step of a build of Docker's by BuildKit
    ctr,       // ctr(1), which is told of the program by each call
};
// One throw-away container.
struct TrialAsk {
    Start start = Start::run;
    std::string runtime = {}; // empty: none is named // NOLINT(readability-redundant-member-init)
    bool annotated = true;    // it asks for "off", where the engine passes annotations on
};

// Runs throw-away containers for all runtimes of one engine. What was made for all of them is
// removed by put_away or, at the latest, when this is destroyed.
class Trials {
public:
    virtual ~Trials() = default;
    // Runs a container and removes it before it returns. Its record is looked for in `state_path`;
    // a pod's while the pod still stands.
    virtual engine::Trial run(const TrialAsk& ask, const std::string& state_path) = 0;
    // Removes what was made, and adds a fault for what is left.
    virtual void put_away(engine::EngineSetup& setup) = 0;
};
// Returns the trials of an engine. `relay` is the path of the static program that the container
// runs; `held` must outlive the result. Code delegate_failed when there is no way to run a
// container.
Result<std::unique_ptr<Trials>> trials_of(engine::Engine engine, const std::string& relay,
                                          const runtime::DeferredSignals& held);

// Returns the record of a container that has just run. For a pod it is called while the pod stands.
std::optional<Record> record_of(const std::string& state_path,
                                const std::function<bool(const Record&)>& is_it);
std::optional<Record> record_of(const std::string& state_path, const std::string& id);
// Returns what a failed call has to say.
std::string complaint(const Result<runtime::Answer>& answer);
// Removes a folder of a trial. Leaves it, and returns false, while something is mounted below it:
// an engine that was too late may have bound a directory of the host there.
bool remove_folder_of_trial(const std::string& folder);
std::string first_word(std::string_view text);

} // namespace anchorhold::tools
