// SPDX-License-Identifier: Apache-2.0
// podman's hooks that name us (oci-hooks(5)). podman looks for them only in the folders that
// `hooks_dir` lists, and says nothing of one that lies elsewhere. Pure.
#pragma once

#include "schema/engine/setup.hpp"

namespace anchorhold::engine {

// The folders where hooks are put by custom. podman's default is the first alone.
constexpr std::string_view vendors_hooks = "/usr/share/containers/oci/hooks.d";
constexpr std::string_view sites_hooks = "/etc/containers/oci/hooks.d";

// Returns the folders that podman looks into; the last one comes first where two have a file of
// one name.
std::vector<std::string> hook_folders(const EngineSetup& setup);
// Adds the hooks of ours in `called`, which are files of those folders, in that order, and the
// faults of a hook that does not lead to us: the only ones are in `other`, which podman does not
// read, or one is for another stage. With a hook podman needs no runtime of ours.
void add_hooks(const std::vector<EngineFile>& called, const std::vector<EngineFile>& other,
               EngineSetup& setup);

} // namespace anchorhold::engine
