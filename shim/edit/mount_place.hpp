// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/json/json.hpp"

#include <string>

namespace anchorhold::edit {

// Returns the directory in the container for the relay and the sockets: "/dev/anchorhold", or one
// in another tmpfs of the config's own that no later mount covers. Code endpoint_unavailable when
// there is none. `rootfs` is the absolute path of the root on the host; a /dev that is a symbolic
// link there is not used.
Result<std::string> mount_place(json::View config, const std::string& rootfs);

} // namespace anchorhold::edit
