// SPDX-License-Identifier: Apache-2.0
// First stage: what a bundle's config.json says, and what our annotations in it ask for.
#pragma once

#include "schema/json/json.hpp"
#include "schema/request.hpp"
#include "shim/config/bundle.hpp"

#include <optional>
#include <string>

namespace anchorhold::prepare {

struct ReadBundle {
    config::Bundle bundle;
    json::Document config; // its text is config.json as it stood
};

// Opens a bundle; `path` may be relative.
Result<config::Bundle> open_bundle(const std::string& path);
// Reads it. Refuses (config_ambiguous) a config.json that is no JSON, has a member twice, or whose
// annotations or namespaces the runtimes could read in different ways.
// The error's number is the kernel's where the file cannot be read, ENOENT where there is none.
Result<ReadBundle> read_bundle(config::Bundle bundle);

struct AskedRun {
    config::Bundle bundle;
    json::Document config;
    Asked asked; // by our annotations
    // The annotation by which our own edit marks a file. Nobody else may write it.
    std::optional<std::string> mark;
};

// Refuses (invalid_request) annotations of ours that say nothing known.
Result<AskedRun> read_asked(ReadBundle read);

} // namespace anchorhold::prepare
