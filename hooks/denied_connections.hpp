// SPDX-License-Identifier: Apache-2.0
// Writes the denied connections of a filtered run into its record, as the table in its namespace
// keeps them.
#pragma once

#include "hooks/net/netns.hpp"
#include "hooks/state/state_dir.hpp"

namespace anchorhold {

// Returns the path at which a mount keeps the namespace of a filtered run. Without the mount, the
// namespace and its table would end with the last process in it, before anybody is told.
std::string kept_netns(const state::StateDir& state, const std::string& key);

// Adds to the record, and does nothing for another posture. The first asks over `inside`; the
// second enters the kept namespace, and succeeds without one.
Status note_denied(Record& record, net::Conversations& inside);
Status note_denied(const state::StateDir& state, Record& record);

} // namespace anchorhold
