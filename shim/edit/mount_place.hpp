// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/json/json.hpp"

#include <string>

namespace anchorhold::edit {

// Where the relay and the sockets can be mounted: "/dev/anchorhold" or another tmpfs of the
// config's own that nothing later covers; endpoint_unavailable when there is none.
// `rootfs` is the absolute root path (a /dev that is a symlink there is refused).
Result<std::string> mount_place(json::View config, const std::string& rootfs);

} // namespace anchorhold::edit
