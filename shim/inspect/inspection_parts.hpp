// SPDX-License-Identifier: Apache-2.0
// The parts of inspect_bundle(), one per section of config.json.
#pragma once

#include "shim/inspect/host_files.hpp"
#include "shim/inspect/inspection.hpp"

#include <string>
#include <sys/types.h>

namespace anchorhold {

// linux.namespaces
Status inspect_namespaces(json::View config, const InspectionContext& context, Inspection& into);
// Is there a user namespace that is made for this container and that the host's root has no part
// in? /proc/sys asks for the host's root by its id, not for a capability (measured).
Result<bool> has_own_users(json::View config);

// linux.devices, linux.resources.devices, linux.netDevices
Status inspect_devices(json::View config, Inspection& into);
// Does every runtime give this character device to every container?
bool is_default_device(dev_t device);

// root, mounts, linux.rootfsPropagation
Status inspect_mounts(json::View config, const InspectionContext& context, Inspection& into);

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

} // namespace anchorhold
