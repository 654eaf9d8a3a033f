// SPDX-License-Identifier: Apache-2.0
// dockerd's prestart hook that brings the network. It is dockerd itself, called as
// "libnetwork-setkey".
#pragma once

#include "schema/json/json.hpp"

namespace anchorhold::config {

// Says whether this entry of hooks.prestart is that hook.
Result<bool> is_setkey_hook(json::View hook);
// Says whether Docker brings the network by such a hook, which runs before ours.
Result<bool> plugs_in_by_hook(json::View config);

} // namespace anchorhold::config
