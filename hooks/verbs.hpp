// SPDX-License-Identifier: Apache-2.0
// What anchorhold-hook is called for.
#pragma once

#include "hooks/state/container_state.hpp"
#include "hooks/state/teardown.hpp"
#include "schema/file_identity.hpp"

#include <string_view>

namespace anchorhold {

// createRuntime: confines the container the runtime tells of, verifies, and makes the planned
// record an enforced one. A failure undoes what was done and stands in the record (state failed).
Status up(const state::StateDir& state, const RunKey& key, std::string_view generation,
          const Result<state::ContainerState>& told, const state::Deadline& deadline);

// Before `start`, when the init's namespace shows more than loopback: confines it again. A failure
// leaves the record as it is: its init still owns the run, and `start` is asked anew.
Status guard(const state::StateDir& state, const RunKey& key, std::string_view generation,
             const state::Deadline& deadline);

// While the container runs: do the tables still stand, inside and at the host? What somebody took
// away is loaded again, and the record says so.
Status hold(const state::StateDir& state, const RunKey& key, std::string_view generation,
            const state::Deadline& deadline);

// The run that holds the network of a container's pod: alive, in `netns`, its tables held. Hands
// back its record.
Result<Record> hold_pod(const state::StateDir& state, const Record& member,
                        const FileIdentity& netns, const state::Deadline& deadline);

// poststop: tears down if the container is gone, or goes within a moment.
Result<state::TeardownOutcome> down(const state::StateDir& state, const RunKey& key,
                                    std::string_view generation);

} // namespace anchorhold
