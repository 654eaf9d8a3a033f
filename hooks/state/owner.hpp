// SPDX-License-Identifier: Apache-2.0
// Whose files may be believed: root's and our own. A rootless engine calls us in a user namespace
// that has no id for the host's root, whose files then show the overflow uid.
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>

struct stat; // NOLINT(readability-identifier-naming): the system's name

namespace anchorhold::state {

// Has the host's root an id in the user namespace whose /proc/PID/uid_map this is?
bool maps_host_root(std::string_view uid_map);
// Are we in one where it has none?
bool is_rootless();

// `file` is what lstat(2) says of `path`.
bool is_owned_well(const std::string& path, const struct stat& file);

} // namespace anchorhold::state
