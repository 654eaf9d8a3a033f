// SPDX-License-Identifier: Apache-2.0
// The files that an engine reads its configuration from, in its order, for `doctor` and `verify`.
#pragma once

#include "schema/engine/setup.hpp"

#include <string>
#include <vector>

namespace anchorhold::tools {

struct EngineFiles {
    std::vector<engine::EngineFile> files; // later ones are laid over earlier ones
    std::vector<Error> errors;             // of files that are there and cannot be read
};

// Returns the engine's main configuration file where it is not told of another.
std::string usual_file(engine::Engine engine);
// Reads `main` and what goes with it: drop-ins, imports, podman's files of the user and of its
// variables. podman takes no other main file than its own. A missing file is no error.
// `layering` is containerd's.
EngineFiles read_engine_files(engine::Engine engine, const std::string& main,
                              engine::Layering layering);

// Refuses (invalid_request) a main file that the engine, while it runs, was not started with.
Status check_is_read(engine::Engine engine, const std::string& main);
// Returns the path of a drop-in of ours that read_engine_files reads, for podman and CRI-O; for a
// user it is among podman's own files of that user. Refuses (invalid_request) a podman that reads
// no drop-ins.
Result<std::string> drop_in_file(engine::Engine engine);

// Adds podman's hooks of ours to its set-up: those that it calls, and as faults those that it does
// not. Adds the errors of files that cannot be read.
void add_hook_files(engine::EngineSetup& setup, std::vector<Error>& errors);

// Returns each unreadable file as a fault of the engine's.
std::vector<engine::Fault> faults_of(const EngineFiles& read);

} // namespace anchorhold::tools
