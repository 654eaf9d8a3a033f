// SPDX-License-Identifier: Apache-2.0
// The runtime makes the mount point of our hosts file where the container's root has none. It is an
// empty file in somebody's directory, so teardown takes it away again.
#pragma once

#include "hooks/state/state_dir.hpp"

namespace anchorhold::state {

// Returns which of the paths below the directory `root` the runtime will have to make; nothing when
// it will make none. `paths` begins with the file, and each next one is the directory around it. A
// path that a run which is still there had made counts as well: then the last of them removes it.
std::optional<MountPoints> missing_mount_points(const std::string& state_path,
                                                const std::string& root,
                                                const std::vector<std::string>& paths);

// Removes what was made for the record's run and is empty still. Leaves everything when another run
// has it mounted, or when another directory stands at the root's path by now.
void remove_mount_points(const StateDir& state, const Record& record);

} // namespace anchorhold::state
