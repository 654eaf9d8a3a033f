// SPDX-License-Identifier: Apache-2.0
// Takes away what a run has in the host's network namespace: its link, its rules, its subnet.
#pragma once

#include "hooks/net/links.hpp"
#include "hooks/net/netlink.hpp"
#include "hooks/state/state_dir.hpp"

namespace anchorhold {

// Returns the alias of a run's link: the generation, and the pid namespace it was made in. Its name
// alone does not prove whose a link is: an engine in another pid namespace, with a state directory
// of its own, may have a run of the same key.
std::string link_alias(const Record& record);
// Says whether a link was made in another pid namespace than `pidns`. Its processes cannot be
// looked at from there. Links of earlier versions have no alias.
bool is_made_elsewhere(const net::Link& link, const FileIdentity& pidns);

// Removes everything of a run outside the container's namespace, by its key alone; what is not
// there is no error. Notes in the record what was denied to it. The subnet is free again only when
// the link is gone: whoever keeps a descriptor of the namespace keeps the container's end alive.
Status unplug(const state::StateDir& state, Record& record);
// Does the same for a key that no record tells anything about.
Status unplug_orphan(const state::StateDir& state, const RunKey& key);

// Removes a link by name, if it is there.
Status remove_leftover(net::Netlink& route, const std::string& name);

} // namespace anchorhold
