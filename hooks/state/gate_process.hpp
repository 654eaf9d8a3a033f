// SPDX-License-Identifier: Apache-2.0
// The gate of a run, as a process and by its reports. It ends with the container's first process by
// itself. A gate that was started again writes a report of its own, so that nothing is forgotten.
#pragma once

#include "hooks/state/state_dir.hpp"
#include "schema/unique_fd.hpp"

namespace anchorhold::state {

// Makes the file in which a gate counts what it refuses: PATH/runs/KEY/gate.EPOCH.
Result<UniqueFd> make_gate_report(const StateDir& state, const Record& record);
// Says whether the run should have a gate, and has none.
bool has_lost_gate(const Record& record);
// Kills a gate that does not end by itself within `grace`, unless its pid is another process's by
// now, and waits until it is gone.
Status end_gate(const ProcessIdentity& gate, std::chrono::milliseconds grace);
// Puts the names that the run's gates refused into the record.
void note_gate_reports(const StateDir& state, Record& record);

} // namespace anchorhold::state
