// SPDX-License-Identifier: Apache-2.0
// The gate of a recorded run: started for a new one by `up`, asked for by `guard`, and started
// again by `hold`.
#pragma once

#include "hooks/net/netns.hpp"
#include "hooks/state/state_dir.hpp"

namespace anchorhold {

// Starts the run's gate, and writes it into `record` in memory. Its table stands, and its namespace
// is empty.
Status plant_gate(const state::StateDir& state, Record& record, const net::Netns& netns,
                  net::Conversations& inside, const state::Deadline& deadline);

// Says in the record, and in its file, that the run's gate is gone. Does nothing while it lives.
Status note_lost_gate(const state::StateDir& state, Record& record);

// Starts a gate again that is gone, at most three times in a run. Each exact name keeps its handle.
// Fails when the run stays without one; it is closed then.
Status restart_gate(const state::StateDir& state, Record& record, const net::Netns& netns,
                    net::Conversations& inside, const state::Deadline& deadline);

} // namespace anchorhold
