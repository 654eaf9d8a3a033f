// SPDX-License-Identifier: Apache-2.0
// dockerd's prestart hook that brings the network: itself, called as "libnetwork-setkey".
#pragma once

#include "schema/json/json.hpp"

namespace anchorhold::config {

// Is this entry of hooks.prestart that hook?
Result<bool> is_setkey_hook(json::View hook);
// Does Docker bring the network by a hook of its own, which runs before ours?
Result<bool> plugs_in_by_hook(json::View config);

} // namespace anchorhold::config
