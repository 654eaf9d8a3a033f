// SPDX-License-Identifier: Apache-2.0
// One file of an engine's configuration: how it is parsed, and at which places it names a runtime.
#pragma once

#include "schema/engine/setup.hpp"
#include "schema/json/json.hpp"

namespace anchorhold::engine {

// The names of containerd's CRI plugin in its configuration: cri_2 in version 2, cri_3 in version 3
// and later. file.cpp has the name of version 1.
constexpr std::string_view cri_2 = "io.containerd.grpc.v1.cri";
constexpr std::string_view cri_3 = "io.containerd.cri.v1.runtime";

using Keys = std::vector<std::string>;

// Parses a file. Refuses (invalid_request) what is no TOML, or for Docker no JSON. config_version
// returns the version of containerd's file, and 0 for other engines: every version of it has a
// section of its own.
Result<json::Document> parse_engine_file(Engine engine, const EngineFile& file);
std::int64_t config_version(Engine engine, json::View root);
// Returns the places where a runtime's program is named. "*" stands for the runtime's name, "[]"
// for any element of a list.
std::vector<Keys> right_places(Engine engine, std::int64_t version);
// Returns a section as the engine's people write it:
// [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.x.options], and for Docker runtimes.x.
std::string section_text(Engine engine, const Keys& keys);

} // namespace anchorhold::engine
