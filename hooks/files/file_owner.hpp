// SPDX-License-Identifier: Apache-2.0
// Decides whose files we believe: root's and our own. A rootless engine calls us in a user
// namespace that may have no id for the host's root. A file of the host's root then shows the
// overflow uid.
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>

struct stat; // NOLINT(readability-identifier-naming): the system's name

namespace anchorhold::files {

// Says whether the host's root has an id in a user namespace; `uid_map` is the text of its
// /proc/PID/uid_map.
bool maps_host_root(std::string_view uid_map);
// Says whether we are in a user namespace where the host's root has no id.
bool is_rootless();

// Says whether root or we own a file. `file` is what lstat(2) says about `path`.
bool is_owned_well(const std::string& path, const struct stat& file);

} // namespace anchorhold::files
