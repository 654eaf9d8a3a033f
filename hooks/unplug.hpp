// SPDX-License-Identifier: Apache-2.0
// Takes away what a run has in the host's network namespace: its link, its rules, its subnet.
#pragma once

#include "hooks/net/netlink.hpp"
#include "hooks/state/state_dir.hpp"

namespace anchorhold {

// Removes everything of a run outside the container's namespace, by its key alone; what is not
// there is no error. Notes in the record what was denied to it. The subnet is free again only when
// the link is gone: whoever keeps a descriptor of the namespace keeps the container's end alive.
Status unplug(const state::StateDir& state, Record& record);
// Does the same for a key that no record tells anything about.
Status unplug_orphan(const state::StateDir& state, const RunKey& key);

// Removes a link by name, if it is there.
Status remove_leftover(net::Netlink& route, const std::string& name);

} // namespace anchorhold
