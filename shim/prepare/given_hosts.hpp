// SPDX-License-Identifier: Apache-2.0
// The /etc/hosts that the container would have without us.
#pragma once

#include "schema/json/json.hpp"

#include <string>

namespace anchorhold::prepare {

// Returns the text of the file that the last mount on /etc/hosts shows, as engines make it, else of
// the image's below `rootfs`. Returns an empty text where there is none, or none that can be read:
// it is no regular file, or has more than 1 MiB.
std::string given_hosts(json::View config, const std::string& rootfs);

} // namespace anchorhold::prepare
