// SPDX-License-Identifier: Apache-2.0
// delete: the runtime goes first, then what we made for the run is removed. Our part never makes a
// delete fail: an engine whose delete failed does not come back, its user sees nothing of it, and
// the container's state would stay for good. What our part leaves is removed by `gc`.
#include "shim/verbs/delete.hpp"

#include "hooks/state/teardown.hpp"
#include "shim/runtime/ask_hook.hpp"
#include "shim/runtime/child.hpp"
#include "shim/runtime/runtime.hpp"
#include "shim/session.hpp"

#include <unistd.h>

namespace anchorhold::verbs {

bool waits_to_start(const Session& session)
{
    const std::string fifo = session.root + "/" + session.invocation.operands[0] + "/exec.fifo";
    return ::access(fifo.c_str(), F_OK) == 0;
}

bool delete_by_force(const Session& session)
{
    const words::Invocation& call = session.invocation;
    std::vector<std::string> words = session.rest;
    if (const words::OptionAt* const log = call.last("log"))
        words = words::with_value(std::move(words), *log, "/dev/null");
    words.resize(call.verb_index);
    words.insert(words.end(), {"delete", "--force", call.operands[0]});
    for (int tries = 0; tries < 2; ++tries) {
        const auto caught = runtime::run_quietly(session.runtime, words);
        if (caught && caught->status == 0)
            return true;
    }
    return false; // the reason is not told; the error that brought us here is
}

Result<int> delete_container(const Session& session)
{
    const auto found = find_own_run(session);
    const std::optional<OwnRun> run = found ? *found : std::nullopt;
    // crun's option: the id is a pattern.
    const bool many = session.invocation.last("regex") != nullptr;
    if (!many && !run)
        return std::unexpected(runtime::exec_runtime(session.runtime, session.rest));
    AH_TRY(const int status, runtime::run_runtime(session.runtime, session.rest));
    // The two parts below do nothing for a run whose init lives: a container that runs is not
    // deleted.
    if (run) {
        const auto torn = state::teardown(run->state, run->key, {}, runtime::unplug_by_hook);
        // `foreign` is a run in a pid namespace that we cannot look into. The runtime has just said
        // that the container is gone.
        if (status == 0 && torn && *torn == state::TeardownOutcome::foreign) {
            (void)state::abandon(run->state, run->key, run->record.generation,
                                 {Code::delegate_failed, 0, "deleted from another pid namespace"},
                                 runtime::unplug_by_hook);
        }
    }
    if (many) {
        const auto state = state::StateDir::existing(session.state_path);
        if (const std::optional<state::StateDir> there = state ? *state : std::nullopt)
            (void)state::gc(*there, state::Sweep::remove, 0, runtime::unplug_by_hook);
    }
    return status;
}

} // namespace anchorhold::verbs
