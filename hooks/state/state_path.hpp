// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/error.hpp"

#include <string>
#include <string_view>
#include <sys/types.h>

namespace anchorhold::state {

// Returns the state directory's path when the caller named none: /run/anchorhold for euid 0 in the
// initial user namespace, else $XDG_RUNTIME_DIR/anchorhold, else /run/user/OUTER_UID/anchorhold.
// Refuses when none of these can be built.
Result<std::string> default_state_path();
// Does the same with facts from its caller. `uid_map` is the text of /proc/self/uid_map. Pure.
Result<std::string> state_path_for(uid_t euid, std::string_view uid_map,
                                   std::string_view xdg_runtime_dir);

// Returns the runtime's state root as an absolute path. A relative path starts at the cwd. The
// longest prefix that exists goes through realpath(3), the rest is normalised as text.
Result<std::string> resolve_root(std::string_view root);

} // namespace anchorhold::state
