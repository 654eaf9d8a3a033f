// SPDX-License-Identifier: Apache-2.0
// One file of an engine's configuration: how it is parsed, and where in it a runtime is named.
#pragma once

#include "schema/engine/setup.hpp"
#include "schema/json/json.hpp"

namespace anchorhold::engine {

// The CRI plugin of containerd in its configuration of version 2, and of 3 and later.
constexpr std::string_view cri_2 = "io.containerd.grpc.v1.cri";
constexpr std::string_view cri_3 = "io.containerd.cri.v1.runtime";

using Keys = std::vector<std::string>;

// `version` is containerd's, of one file: every version has a section of its own.
Result<json::Document> parse_engine_file(Engine engine, const EngineFile& file);
std::int64_t config_version(Engine engine, json::View root);
// Where a runtime's program is named; "*" stands for the runtime's name, "[]" for any element.
std::vector<Keys> right_places(Engine engine, std::int64_t version);
// [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.x.options], as the engine's people
// write it; of Docker's, runtimes.x.
std::string section_text(Engine engine, const Keys& keys);

} // namespace anchorhold::engine
