// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/inspect/filesystems.hpp"
#include "shim/inspect/host_files.hpp"
#include "shim/inspect/inspection.hpp"

#include <string>

namespace anchorhold::inspect {

// A path of the host that the container would see.
struct Source {
    std::string where;       // "mounts[4].source"
    std::string path;        // as it stands there; a relative one begins at the bundle
    std::string destination; // in the container; empty for the root
    bool writable = false;
    bool recursive = false;   // filesystems mounted below it come along
    bool layer = false;       // of an overlay: seen through it, not mounted itself
    Surroundings around = {}; // where its filesystem arrives
};
// Judges one source and adds what was found.
void inspect_source(const Source& source, const InspectionContext& context, const HostFiles& host,
                    Inspection& into);

} // namespace anchorhold::inspect
