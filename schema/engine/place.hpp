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
    bool is_template = false; // k3s and RKE2 write the main file anew from it
};

// Returns the place. `main` is the main file and `files` what there is, in the engine's order.
//
// 2.x merges what it imports, so a folder that some file imports gets a drop-in. 1.x lets an
// imported section for CRI replace the whole of an earlier one, so our lines stand in the file that
// has the last one. Without a main file one of our own takes its place. k3s and RKE2 make the main
// file, and there the template is the place of which its version says that it was made from.
ContainerdPlace containerd_place(const std::string& main, const std::vector<EngineFile>& files,
                                 Layering layering);
// Returns the templates that may lie beside this main file of k3s' or RKE2's; none for another.
std::vector<std::string> templates_of(const std::string& main);
// Refuses (invalid_request) files that switch pods off, a place that something writes anew without
// our lines, and a file of k3s' whose template is not known.
Status check_place(const ContainerdPlace& place, const std::vector<EngineFile>& files);

} // namespace anchorhold::engine
