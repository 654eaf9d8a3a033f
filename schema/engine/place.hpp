// SPDX-License-Identifier: Apache-2.0
// The place in containerd's configuration where it is told of us. Pure.
#pragma once

#include "schema/engine/setup.hpp"

#include <string>
#include <vector>

namespace anchorhold::engine {

struct ContainerdPlace {
    std::string path;
    bool is_own_file = true; // else our lines go into a file of the administrator's
    // What the text hangs on, as in struct Telling.
    std::int64_t version = 2;
    bool names_runc = false;
    bool systemd_cgroup = false;
};

// Returns the place. `main` is the main file and `files` what there is, in the engine's order.
//
// 2.x merges what it imports, so a folder that some file imports gets a drop-in. 1.x lets an
// imported section for CRI replace the whole of an earlier one, so our lines stand in the file that
// has the last one. Without a main file one of our own takes its place.
ContainerdPlace containerd_place(const std::string& main, const std::vector<EngineFile>& files,
                                 Layering layering);

} // namespace anchorhold::engine
