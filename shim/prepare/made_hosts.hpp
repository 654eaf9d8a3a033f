// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/json/json.hpp"
#include "schema/record.hpp"

#include <optional>
#include <string>

namespace anchorhold::prepare {

// Returns what the runtime will make on the host for our mount at /etc/hosts, where neither the
// engine mounts one nor the image has one: in the container's root `rootfs`, or in a directory of
// the host that is mounted at /etc.
std::optional<MountPoints> made_hosts(json::View config, const std::string& rootfs,
                                      const std::string& state_path);

} // namespace anchorhold::prepare
