// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/json/json.hpp"
#include "schema/record.hpp"

#include <optional>
#include <string>
#include <vector>

namespace anchorhold::prepare {

// Returns what the runtime will make on the host for our mounts at /etc/NAME, for each of `names`
// that neither the engine mounts nor the image has: in the container's root `rootfs`, or in a
// directory of the host that is mounted at /etc.
std::optional<MountPoints> made_files(json::View config, const std::string& rootfs,
                                      const std::vector<std::string>& names,
                                      const std::string& state_path);

} // namespace anchorhold::prepare
