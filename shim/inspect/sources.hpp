// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/inspect/host_files.hpp"
#include "shim/inspect/inspection.hpp"

#include <string>
#include <string_view>

namespace anchorhold::inspect {

// One path of the host that the container would see.
struct Source {
    std::string where;       // "mounts[4].source"
    std::string path;        // as it stands there
    std::string destination; // empty for the root
    bool writable = false;
    bool recursive = false; // what is mounted below comes too
    bool layer = false;     // of an overlay: seen through it, not mounted itself
};
void inspect_source(const Source& source, const InspectionContext& context, const HostFiles& host,
                    Inspection& into);
// A filesystem type that is itself a way out or in, by name.
bool is_network_filesystem(std::string_view type);

} // namespace anchorhold::inspect
