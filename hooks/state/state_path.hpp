// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/error.hpp"

#include <string>
#include <string_view>
#include <sys/types.h>

namespace anchorhold::state {

// Where state lives when nobody said: /run/anchorhold for euid 0 in the initial user namespace,
// else $XDG_RUNTIME_DIR/anchorhold, else /run/user/OUTER_UID/anchorhold, else refused.
Result<std::string> default_state_path();
// The same from facts; `uid_map` is the text of /proc/self/uid_map.
Result<std::string> state_path_for(uid_t euid, std::string_view uid_map,
                                   std::string_view xdg_runtime_dir);

// The delegate's state root, absolute: longest existing prefix through realpath(3), the rest
// normalised lexically, relative paths from the cwd.
Result<std::string> resolve_root(std::string_view root);

} // namespace anchorhold::state
