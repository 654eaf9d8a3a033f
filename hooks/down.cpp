// SPDX-License-Identifier: Apache-2.0
#include "hooks/unplug.hpp"
#include "hooks/state/process.hpp"
#include "hooks/verbs.hpp"

namespace anchorhold {
namespace {

constexpr std::chrono::seconds dying_time(1);

} // namespace

// The lock is not held while we wait: the record is only read to learn who is dying.
Result<state::TeardownOutcome> down(const state::StateDir& state, const RunKey& key,
                                    std::string_view generation)
{
    const auto read = state.read(key);
    const auto record = read ? *read : std::nullopt; // teardown says what is wrong with it
    if (record && record->generation == generation && record->state == RunState::enforced)
        (void)state::is_gone_within(record->init, dying_time); // teardown asks for itself
    return state::teardown(state, key, generation, unplug);
}

} // namespace anchorhold
