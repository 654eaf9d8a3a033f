// SPDX-License-Identifier: Apache-2.0
// The verbs of anchorhold-hook that work on one run. Each takes the run's key and generation.
#pragma once

#include "hooks/state/container_state.hpp"
#include "hooks/state/teardown.hpp"
#include "schema/file_identity.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold {

// Runs as the createRuntime hook. Confines the container in `told`, verifies that, and turns the
// planned record into an enforced one. A failure undoes what was done, and is written into the
// record (state failed).
Status up(const state::StateDir& state, const RunKey& key, std::string_view generation,
          const Result<state::ContainerState>& told, const state::Deadline& deadline);

// Runs as `guard`. Confines the container again before `start`, when its namespace shows more than
// loopback. A failure leaves the record enforced: the container's first process still owns the run,
// and the next `start` asks again.
Status check_before_start(const state::StateDir& state, const RunKey& key,
                          std::string_view generation, const state::Deadline& deadline);

// Runs as `hold`. Checks the tables inside and at the host while the container runs. Loads a table
// again if somebody took it away, and notes that in the record.
Status restore_tables(const state::StateDir& state, const RunKey& key, std::string_view generation,
                      const state::Deadline& deadline);

// Does the same for every live sealed or filtered run. Returns a line "KEY: sentence" for each that
// does not hold. A run that ended meanwhile is no fault.
Result<std::vector<std::string>> hold_all(const state::StateDir& state,
                                          std::chrono::milliseconds patience_for_each);

// Confines again the run that holds the network of a container's pod, and returns its record. Fails
// unless that run lives, and its network namespace is `netns`.
Result<Record> confine_pod_network(const state::StateDir& state, const Record& member,
                                   const FileIdentity& netns, const state::Deadline& deadline);

// Runs as the poststop hook. Tears the run down if the container is gone, or ends within a second.
Result<state::TeardownOutcome> down(const state::StateDir& state, const RunKey& key,
                                    std::string_view generation);

} // namespace anchorhold
