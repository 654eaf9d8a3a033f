// SPDX-License-Identifier: Apache-2.0
// Has the record say what was refused to a filtered run, as the table in its namespace remembers.
#pragma once

#include "hooks/net/netns.hpp"
#include "hooks/state/state_dir.hpp"

namespace anchorhold {

// Where the namespace of a filtered run is kept by a mount: the table in it ends with it, which is
// at its last process's end, before anybody is told.
std::string kept_netns(const state::StateDir& state, const std::string& key);

Status note_denied(Record& record, net::Conversations& inside);
Status note_denied(const state::StateDir& state, Record& record);

} // namespace anchorhold
