// SPDX-License-Identifier: Apache-2.0
// The runtime makes the mount points of our hosts file and resolv.conf where the container's root
// has none. They are empty files in somebody's directory, so teardown takes them away again.
#pragma once

#include "hooks/state/state_dir.hpp"

namespace anchorhold::state {

// A file, and then each directory around it that may be missing too.
using MissingPath = std::vector<std::string>;

// Returns which of the files, and of the directories around them, the runtime will have to make
// below the directory `root`; nothing when it will make none. What a run that is still there had
// made counts as well: then the last of them removes it.
std::optional<MountPoints> missing_mount_points(const std::string& state_path,
                                                const std::string& root,
                                                const std::vector<MissingPath>& files);

// Removes what was made for the record's run and is empty still. Leaves everything when another run
// has it mounted, or when another directory stands at the root's path by now.
void remove_mount_points(const StateDir& state, const Record& record);

} // namespace anchorhold::state
