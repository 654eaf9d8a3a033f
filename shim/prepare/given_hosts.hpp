// SPDX-License-Identifier: Apache-2.0
// The /etc/hosts that the container would have without us.
#pragma once

#include "schema/json/json.hpp"
#include "schema/record.hpp"

#include <string>
#include <vector>

namespace anchorhold::prepare {

// Returns the text of the file that the last mount on /etc/hosts shows, as engines make it, else of
// the image's below `rootfs`. Returns an empty text where there is none, or none that can be read:
// it is no regular file, or has more than 1 MiB. The same when the file, or the root, is not the
// one that was looked at: it was replaced meanwhile, and the hook would not see that, because our
// file is mounted over it.
std::string given_hosts(json::View config, const std::string& rootfs,
                        const std::vector<BindSource>& looked_at);

} // namespace anchorhold::prepare
