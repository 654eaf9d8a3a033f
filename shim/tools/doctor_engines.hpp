// SPDX-License-Identifier: Apache-2.0
// The engines of this host, and what their configuration files say of us. No engine has to run.
#pragma once

#include "schema/engine/setup.hpp"
#include "schema/json/json.hpp"

#include <string>
#include <vector>

namespace anchorhold::tools {

struct EngineState {
    std::string program;            // empty: only its configuration was found
    std::vector<std::string> files; // that were read, later ones laid over earlier ones
    engine::EngineSetup setup;
    std::string unread; // why this user cannot know; empty: all was read
};

// `containerds_file` stands for the usual one of containerd; empty: it does not.
std::vector<EngineState> look_at_engines(const std::string& containerds_file);
// Returns how the engine that is installed here lays files over each other.
engine::Layering layering_here(engine::Engine engine);
// Says whether some engine names us in vain.
bool some_told_wrongly(const std::vector<EngineState>& engines);

// Writes the array of engines.
void write_engines(json::Writer& writer, const std::vector<EngineState>& engines);
// Appends a row for each engine, and below it one for each finding and its remedy.
void add_engine_rows(std::vector<std::vector<std::string>>& rows,
                     const std::vector<EngineState>& engines);

} // namespace anchorhold::tools
