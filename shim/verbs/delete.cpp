// SPDX-License-Identifier: Apache-2.0
// delete: the runtime first, then what we made for the run (DESIGN 3.13). Whatever goes wrong
// with ours is gc's: an engine whose delete fails never comes back (its user sees nothing of it,
// and the container's state stays for good).
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
    return false; // why is not told: the error that brought us here is
}

Result<int> delete_container(const Session& session)
{
    const auto found = find_own_run(session);
    const std::optional<OwnRun> run = found ? *found : std::nullopt;
    const bool many = session.invocation.last("regex") != nullptr; // crun's; the id is a pattern
    if (!many && !run)
        return std::unexpected(runtime::exec_runtime(session.runtime, session.rest));
    AH_TRY(const int status, runtime::run_runtime(session.runtime, session.rest));
    // Both do nothing for a run whose init lives: a container that runs is not deleted.
    if (run) {
        const auto torn = state::teardown(run->state, run->key, {}, runtime::unplug_by_hook);
        // Of a pid namespace that we cannot look into: the runtime has just said that it is gone.
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
