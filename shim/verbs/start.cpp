// SPDX-License-Identifier: Apache-2.0
// start is a second gate. Docker from 28 on, podman with a user namespace, and `docker network
// connect` plug interfaces in when create has long returned. So the container's network namespace
// is looked at again before the command starts. When there is more in it than loopback and what was
// planned, the hook takes that away.
//
// A container that may not start is deleted, because engines do not clean up after a start that
// failed (ctr and dockerd leave the container created).
#include "shim/verbs/start.hpp"

#include "hooks/files/whole_file.hpp"
#include "hooks/state/gate_process.hpp"
#include "hooks/state/process.hpp"
#include "hooks/state/teardown.hpp"
#include "schema/file_identity.hpp"
#include "shim/inspect/interfaces.hpp"
#include "shim/runtime/ask_hook.hpp"
#include "shim/runtime/child.hpp"
#include "shim/runtime/helpers.hpp"
#include "shim/runtime/runtime.hpp"
#include "shim/session.hpp"
#include "shim/verbs/delete.hpp"
#include "shim/verbs/lost_run.hpp"

#include <ctime>

namespace anchorhold::verbs {
namespace {

constexpr std::size_t most_interfaces = std::size_t{4} * 1024 * 1024; // bytes

// Returns the interfaces that should not be there: "eth0, eth1"; empty: only loopback and what was
// planned. A network of the engine's that is filtered in place may have as many links as the engine
// had plugged in at create. Only the hook can say which they are.
Result<std::string> strays(const Record& record)
{
    const bool own_link = record.network && record.network->subnet;
    const std::size_t engines =
        record.network && !own_link ? record.network->links.size() : std::size_t{0};
    const std::string path = "/proc/" + std::to_string(record.init.pid) + "/net/dev";
    AH_TRY(const auto table, files::read_file(path, most_interfaces),
           "look at the container's network");
    if (!table)
        return std::string();
    std::string names;
    std::size_t count = 0;
    for (const std::string& name : inspect::interfaces_in(*table)) {
        if (name == "lo" || (own_link && name == rules::inside_link))
            continue;
        names += (names.empty() ? "" : ", ") + printable(name);
        ++count;
    }
    return engines != 0 && count == engines ? std::string() : names;
}

// Writes into the run's record that its gate has ended. Errors are passed over: the refusal says it
// too.
void note_gate_gone(const OwnRun& run)
{
    const auto lock = state::RunLock::take(run.state, run.key);
    auto record = lock ? run.state.read(run.key) : std::unexpected(lock.error());
    if (!record || !*record || (*record)->generation != run.record.generation ||
        !state::has_lost_gate(**record) || (*record)->gate->lost != 0)
        return;
    (*record)->gate->lost = std::time(nullptr);
    (void)run.state.write(**record);
}

// Refuses a run whose gate has ended.
Status check_gate(const OwnRun& run)
{
    if (!state::has_lost_gate(run.record))
        return {};
    note_gate_gone(run);
    return fail(Code::network_setup_failed, "its gate is gone");
}

// Has the hook remove the interfaces `names`.
Status remove_by_hook(const OwnRun& run, const std::string& names)
{
    AH_TRY(const runtime::Helpers helpers, runtime::find_helpers());
    AH_TRY(const runtime::ProgramOutput caught,
           runtime::run_quietly(helpers.hook, {"--state", run.state.path(), "guard", run.key.text(),
                                               run.record.generation}));
    if (caught.status == 0)
        return {};
    return fail(Code::network_setup_failed,
                names + " was plugged in after create and cannot be taken away: " +
                    printable(caught.text.substr(0, caught.text.find('\n')), 500));
}

// Refuses a start that would leave the run less confined than its record says.
Status check_network_again(const OwnRun& run)
{
    if (run.record.state != RunState::enforced) {
        return fail(Code::network_setup_failed,
                    "the run is " + std::string(word_for(run.record.state)) + ", not enforced");
    }
    if (run.record.posture == Posture::open)
        return {};
    AH_TRY(const FileIdentity pids, state::namespace_of(0, "pid"));
    if (pids != run.record.host_pidns)
        return fail(Code::network_setup_failed, "the run was made in another pid namespace");
    AH_TRY(const std::string names, strays(run.record));
    // The table is that of our init only if the pid still belongs to it now. A container whose init
    // is gone cannot be started, and the runtime says so.
    AH_TRY(const auto now, state::identify(static_cast<pid_t>(run.record.init.pid)),
           "look at the container's init");
    if (now != run.record.init)
        return {};
    AH_CHECK(check_gate(run));
    if (names.empty())
        return {};
    return remove_by_hook(run, names);
}

} // namespace

Result<int> start_container(const Session& session)
{
    const auto found = find_own_run(session);
    const std::optional<OwnRun> run = found ? *found : std::nullopt;
    const Status whose = found && !run ? refuse_lost_run(session) : Status();
    if (found && !run && whose)
        return std::unexpected(runtime::exec_runtime(session.runtime, session.rest));
    AH_CHECK(words::check_words(session.invocation));
    Status fit = run      ? check_network_again(*run)
                 : !found ? Status(std::unexpected(found.error()))
                          : whose;
    // A container that does not wait any more cannot be started. The runtime says so, and nothing
    // is deleted.
    if (fit || !waits_to_start(session))
        return std::unexpected(runtime::exec_runtime(session.runtime, session.rest));
    const bool deleted = delete_by_force(session);
    if (run)
        // `gc` removes what this leaves.
        (void)state::teardown(run->state, run->key, {}, runtime::unplug_by_hook);
    fit.error().what += deleted ? "; the container was deleted"
                                : "; the container could not be deleted: delete it by force";
    return std::unexpected(std::move(fit).error());
}

} // namespace anchorhold::verbs
