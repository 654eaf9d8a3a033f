// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/process.hpp"
#include "hooks/unplug.hpp"
#include "hooks/verbs.hpp"

namespace anchorhold {
namespace {

constexpr std::chrono::seconds dying_time(1);

} // namespace

// Waits for the container's first process, then tears down. The lock is not held while waiting: the
// record is only read to learn which process that is.
Result<state::TeardownOutcome> down(const state::StateDir& state, const RunKey& key,
                                    std::string_view generation)
{
    const auto read = state.read(key);
    const auto record = read ? *read : std::nullopt; // teardown reports a record it cannot read
    if (record && record->generation == generation && record->state == RunState::enforced)
        (void)state::is_gone_within(record->init, dying_time); // teardown looks for itself
    return state::teardown(state, key, generation, unplug);
}

} // namespace anchorhold
