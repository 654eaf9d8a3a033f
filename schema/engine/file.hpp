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

Result<json::Document> parse_engine_file(Engine engine, const EngineFile& file);
// Returns the version of one file of containerd's; every version has a section of its own. A file
// that does not say it has `unsaid`: the version of the file that imports it, and 1 for the main
// one.
std::int64_t config_version(Engine engine, json::View root, std::int64_t unsaid = 1);
// Returns the name of the CRI plugin in that version.
std::string_view cri_plugin(std::int64_t version);
// Returns the files that a file of containerd's imports, as absolute paths. One with a "*" is a
// pattern; if it is relative, 1.x looks for it where it was started, which is / below systemd. A
// file that cannot be parsed imports none.
std::vector<std::string> imports_of(const EngineFile& file, Layering layering);
// Returns how this containerd lays one file over another, from what --version prints.
Layering layering_of(std::string_view version);
// Returns the places where a runtime's program is named; "*" stands for the runtime's name, "[]"
// for any element.
std::vector<Keys> right_places(Engine engine, std::int64_t version);
// Returns a section as the engine's manual writes it:
// [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.x.options], and for Docker runtimes.x.
std::string section_text(Engine engine, const Keys& keys);

} // namespace anchorhold::engine
