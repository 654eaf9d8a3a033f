// SPDX-License-Identifier: Apache-2.0
// What the two readers of an engine's configuration share.
#pragma once

#include "schema/engine/setup.hpp"
#include "schema/json/json.hpp"

namespace anchorhold {

using Keys = std::vector<std::string>;

// `version` is containerd's, of one file: every version has a section of its own.
Result<json::Document> parse_engine_file(Engine engine, const EngineFile& file);
std::int64_t config_version(Engine engine, json::View root);
// Where a runtime's program is named; "*" stands for the runtime's name, "[]" for any element.
std::vector<Keys> right_places(Engine engine, std::int64_t version);
// [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.x.options], as the engine's people
// write it; of Docker's, runtimes.x.
std::string section_text(Engine engine, const Keys& keys);

// engine_written.cpp: faults for each place in `file` that names us in vain. Handlers of ours that
// only such a place gives away are marked. Did the engine say what it knows?
enum class EngineSays : bool { nothing, handlers };
void look_at_written(const EngineFile& file, EngineSays says, EngineSetup& setup);

} // namespace anchorhold
