// SPDX-License-Identifier: Apache-2.0
// create, run and restore, in an order that is the promise:
//
//   1. Everything that can be refused is refused before anything is made.
//   2. The record is written before the first change to the host.
//   3. The run's lock is free again before the runtime starts, because its hook takes it.
#include "shim/verbs/create.hpp"

#include "hooks/state/forwarding.hpp"
#include "hooks/state/names_file.hpp"
#include "hooks/state/original.hpp"
#include "hooks/state/process.hpp"
#include "hooks/state/teardown.hpp"
#include "schema/sha256.hpp"
#include "shim/config/oci_keys.hpp"
#include "shim/inspect/descriptors.hpp"
#include "shim/prepare/first_record.hpp"
#include "shim/prepare/prepare.hpp"
#include "shim/runtime/ask_hook.hpp"
#include "shim/runtime/child.hpp"
#include "shim/runtime/private_log.hpp"
#include "shim/runtime/runtime.hpp"
#include "shim/verbs/claim.hpp"
#include "shim/verbs/command_lookup.hpp"
#include "shim/verbs/delete.hpp"
#include "shim/verbs/places.hpp"
#include "shim/verbs/refusal.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace anchorhold::verbs {

namespace {

constexpr std::size_t swept_at_create = 8;
constexpr int most_turns = 2000; // ten seconds behind one neighbour
constexpr useconds_t turn_microseconds = 5000;

// Says whether this container is left alone whatever its config.json says.
bool left_alone_anyway(const Session& session, const ContainerId& id)
{
    return is_left_alone(*session.policy, session.own.profile, session.argv0_profile, id);
}

// Says whether a container whose config.json could not be read is the runtime's to judge. It must
// be one that is left alone whatever its annotations say. Where annotations have a say, the file
// must not be there at all; where they have none, the kernel must have refused to read it. A file
// that can be read and is ambiguous is never left to the runtime: it could join the network of a
// confined run by a name that we read in another way.
bool is_the_runtimes(const Session& session, const ContainerId& id, const Error& unread)
{
    const bool unreadable =
        session.policy->annotations ? unread.number == ENOENT : unread.number != 0;
    return unreadable && left_alone_anyway(session, id);
}

enum class Mark : std::uint8_t {
    ours,
    of_a_neighbour, // a live run's, which puts the file back soon
    stale,          // no live run's: killed, rewritten by a runtime, or of an earlier boot
    forged,
};

// Judges the annotation by which our edit marks a config.json. Anybody may write it, so it proves
// nothing: only a live run of that key and generation whose config.json is this very text makes the
// file ours, and then it is left as it is. A run of another id in the same bundle is a neighbour:
// its hook puts the file back in a moment, or, where that fails, its shim. Any other mark is stale:
// take_turn puts the original back, if one was kept.
Result<Mark> judge_mark(const state::StateDir& state, std::string_view mark,
                        const config::Bundle& bundle, const std::string& config, const RunKey& key)
{
    const auto named = RunKey::parse(mark.substr(0, mark.find('.')));
    if (!named)
        return Mark::forged;
    const auto read = state.read(*named); // teardown knows what to do with one that is unreadable
    const auto record = read ? *read : std::nullopt;
    if (record && record->bundle != bundle.path())
        return Mark::forged; // podman's precreate hook has no bundle, and keeps no original
    if (!record || (record->state != RunState::planned && record->state != RunState::failed) ||
        mark != run_name(*record))
        return Mark::stale;
    AH_TRY(const state::Lives lives,
           state::look_for(record->creator, record->boot_id, record->host_pidns, record->created));
    if (lives == state::Lives::no)
        return Mark::stale;
    if (*named != key)
        return Mark::of_a_neighbour;
    return record->state == RunState::planned && record->config_digest == sha256_hex(config)
               ? Mark::ours
               : Mark::forged;
}

// Has the run whose stale mark stands in config.json put the original back, as gc would.
Status finish_stale_run(const state::StateDir& state, std::string_view mark)
{
    AH_TRY(const RunKey key, RunKey::parse(mark.substr(0, mark.find('.'))));
    const auto read = state.read(key);
    const auto record = read ? *read : std::nullopt;
    if (record && mark != run_name(*record))
        return {}; // a later run's record; it knows nothing of this edit
    if (record && record->state == RunState::enforced)
        return state::put_back(state, *record); // the runtime has read the file long since
    AH_CHECK(state::teardown(state, key, {}, runtime::unplug_by_hook), "clear what a run left");
    return {};
}

// Puts the original back in place of a stale edit. First the run's record is asked; where there is
// none, the original itself says whose it is. Returns false when nothing could be put back.
Result<bool> heal(const state::StateDir& state, const config::Bundle& bundle, std::string_view mark,
                  std::optional<files::FileLock>& lock)
{
    lock.reset(); // teardown takes it
    AH_CHECK(finish_stale_run(state, mark));
    AH_TRY(auto again, bundle.lock(state), "lock the bundle");
    AH_TRY(const std::string text, bundle.read_config(), "read config.json");
    if (!text.contains(mark))
        return true;
    return bundle.restore_config(mark);
}

// The result of a turn at the bundle.
struct TurnAtBundle {
    Result<prepare::AskedRun> asked;     // an Error: config.json could not be read
    std::optional<files::FileLock> lock; // held while config.json is being edited
    bool edited = false;                 // the file is ours already, of this very run
};

// Reads config.json when no other run's edit stands in it: two runs of one bundle take turns.
Result<TurnAtBundle> take_turn(const Session& session, const ContainerId& id)
{
    const RunKey key = RunKey::of(session.root, id);
    const std::string path = prepare::bundle_of(session.invocation);
    // A container that is left alone makes no state directory.
    const auto there = state::StateDir::existing(session.state_path);
    bool healed = false;
    std::string neighbour;
    for (int turn = 0;; ++turn) {
        auto bundle = prepare::open_bundle(path);
        if (!bundle)
            return TurnAtBundle{std::unexpected(std::move(bundle).error()), {}, false};
        // Without a lock a config.json that changes is still noticed.
        std::optional<files::FileLock> lock;
        if (there && *there) {
            if (auto taken = bundle->lock(**there))
                lock.emplace(*std::move(taken));
        }
        auto read = prepare::read_bundle(*std::move(bundle));
        if (!read)
            return TurnAtBundle{std::unexpected(std::move(read).error()), {}, false};
        AH_TRY(prepare::AskedRun asked, prepare::read_asked(*std::move(read)));
        if (!asked.mark)
            return TurnAtBundle{std::move(asked), std::move(lock), false};
        AH_TRY(const state::StateDir state, state::StateDir::open(session.state_path),
               "open the state directory");
        AH_TRY(const Mark mark,
               judge_mark(state, *asked.mark, asked.bundle, std::string(asked.config.text()), key));
        if (mark == Mark::ours) {
            AH_CHECK(asked.bundle.check_config(), "read config.json");
            return TurnAtBundle{std::move(asked), {}, true};
        }
        if (mark == Mark::stale && !healed) {
            healed = true;
            AH_TRY(const bool restored, heal(state, asked.bundle, *asked.mark, lock),
                   "put back what a killed run left edited");
            if (restored)
                continue;
        }
        if (mark == Mark::forged || mark == Mark::stale || turn == most_turns) {
            return fail(Code::invalid_request,
                        "annotation dev.anchorhold.run is written by anchorhold alone; remove it "
                        "(no original of config.json was kept for it; podman's precreate hook and "
                        "this runtime are not for the same container)");
        }
        if (neighbour != *asked.mark) { // they take their turns, so ours comes
            neighbour = *asked.mark;
            turn = 0;
        }
        lock.reset(); // the neighbour's hook needs it
        ::usleep(turn_microseconds);
    }
}

// Writes the record and what teardown needs, under the run's lock.
Result<Record> claim(const Session& session, const state::StateDir& state,
                     const prepare::PreparedRun& run, const ContainerId& id)
{
    const RunKey key = RunKey::of(session.root, id);
    AH_TRY(const state::RunLock lock, take_id(state, key));
    AH_TRY(Record record, prepare::first_record(session, run, id));
    AH_CHECK(state.make_run(key), "make the run's folder");
    AH_CHECK(write_inside(state, key, run, record));
    AH_CHECK(state.write(record), "write the record");
    return record;
}

// Undoes a container of which the runtime says wrongly that all went well.
Result<int> undo(const Session& session, const state::StateDir& state, const Record& ours,
                 Error reason)
{
    (void)delete_by_force(session); // a `run` is over by now, or detached
    AH_TRY(const RunKey key, RunKey::parse(ours.key));
    (void)state::abandon(state, key, ours.generation, reason,
                         runtime::unplug_by_hook); // the reason is told
    return std::unexpected(std::move(reason));
}

// Returns what the runtime would have said of a command that is not there, had it not found the
// relay in its place. Returns nothing where that cannot be known: the relay says it at start.
std::optional<std::string> missing_inside(const prepare::PreparedRun& run, const Record& record)
{
    const std::string path = "/proc/" + std::to_string(record.init.pid) + "/root";
    const UniqueFd root(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const auto init = state::identify(static_cast<pid_t>(record.init.pid));
    if (!root || !init || *init != record.init)
        return std::nullopt;
    const auto config = json::Document::parse(run.planned.edited.text);
    const auto command =
        config ? command_lookup(config->root(), run.planned.plan.command_prefix.size())
               : Result<CommandLookup>(std::unexpected(config.error()));
    return command ? missing_command(root.get(), *command) : std::nullopt;
}

// Judges what the runtime left: returns its status, or an error of ours to report.
Result<int> conclude(const Session& session, const state::StateDir& state, const Record& ours,
                     const prepare::PreparedRun& run, int status, const runtime::PrivateLog& log)
{
    AH_TRY(const RunKey key, RunKey::parse(ours.key));
    const auto read = state.read(key);
    // A run that was deleted meanwhile has no folder any more. It was enforced to get that far.
    std::optional<Record> record = read ? *read : std::nullopt;
    if (record && record->generation != ours.generation)
        record.reset();
    const bool is_run = session.invocation.verb == words::Verb::run;
    if (record && record->state == RunState::planned && status == 0) {
        // Somebody took our hook out of the file, or replaced it.
        return undo(session, state, ours,
                    {Code::network_setup_failed, 0,
                     "the runtime did not run the hook that verifies the network"});
    }
    if (record && status == 0 && !is_run && !run.planned.plan.command_prefix.empty()) {
        if (auto missing = missing_inside(run, *record))
            return undo(session, state, ours, {Code::invalid_request, 0, std::move(*missing)});
    }
    if (status == 0 || (is_run && (!record || record->state == RunState::enforced))) {
        log.pass_on();
        if (is_run) {
            (void)state::teardown(state, key, ours.generation,
                                  runtime::unplug_by_hook); // a live init keeps it; gc comes again
        }
        return status;
    }
    Error reason{Code::delegate_failed, 0, ""};
    if (record && record->state == RunState::failed)
        reason = {Code::network_setup_failed, 0, record->reason}; // the hook's own words
    (void)state::abandon(state, key, ours.generation, reason,
                         runtime::unplug_by_hook); // what is left over is gc's
    if (!reason.what.empty())
        return std::unexpected(std::move(reason));
    log.pass_on_one_error(); // the runtime's own line; on stderr it stands already
    return status;
}

// Runs the runtime. Where the relay counts the names that it refuses, it is handed the file for it.
Result<int> run_with_names(const Session& session, const state::StateDir& state, const Plan& plan,
                           const std::vector<std::string>& words)
{
    if (plan.names_descriptor == 0)
        return runtime::run_runtime(session.runtime, words);
    AH_TRY(const RunKey key, RunKey::parse(plan.key));
    AH_TRY(const UniqueFd names, state::make_names_file(state, key));
    AH_TRY(const unsigned preserved, inspect::count_preserved(session.invocation));
    return runtime::run_runtime(session.runtime,
                                words::with_option(words, session.invocation, "preserve-fds",
                                                   std::to_string(preserved + 1)),
                                {.fd = names.get(), .as = plan.names_descriptor});
}

// Clears away what others left. To be called without the bundle's lock: whoever is torn down may
// need it, to put config.json back.
void sweep(const state::StateDir& state)
{
    (void)state::gc(state, state::Sweep::remove, swept_at_create,
                    runtime::unplug_by_hook); // a sweep that fails is the next one's work
    if (state::is_router() && state::has_claimed_links(state))
        (void)runtime::restore_all_by_hook(state); // the links are somebody else's by now
}

// A container that nothing speaks against.
struct Admitted {
    prepare::PreparedRun run;
    state::StateDir state;
    std::optional<files::FileLock> turn; // held while config.json is being edited
    Record record;                       // as claimed
};

Result<int> carry_out(const Session& session, Admitted admitted)
{
    const auto& [run, state, turn, record] = admitted;
    AH_TRY(const RunKey key, RunKey::parse(record.key));
    const auto give_up = [&](Error reason) -> Result<int> {
        // The first error is the story.
        (void)state::abandon(state, key, record.generation, reason, runtime::unplug_by_hook);
        return std::unexpected(std::move(reason));
    };
    auto written = run.asked.bundle.keep_config(record);
    if (written) {
        written = run.asked.bundle.write_config(std::string(run.asked.config.text()),
                                                run.planned.edited.text);
    }
    admitted.turn.reset(); // giving up takes it as well
    if (!written)
        return give_up(std::move(written).error());
    sweep(state);
    auto log = runtime::PrivateLog::open(session, state.run_path(key));
    if (!log)
        return give_up(std::move(log).error());
    auto status = run_with_names(session, state, run.planned.plan, log->words());
    if (!status)
        return give_up(std::move(status).error());
    return conclude(session, state, record, run, *status, *log);
}

// Asks everything that may speak against the container, and claims its run. Does not return when
// the container is the runtime's to judge.
Result<Admitted> admit(const Session& session, const ContainerId& id, const std::string& generation)
{
    AH_TRY(TurnAtBundle turn, take_turn(session, id));
    if (turn.edited || (!turn.asked && is_the_runtimes(session, id, turn.asked.error())))
        return std::unexpected(runtime::exec_runtime(session.runtime, session.rest));
    if (!turn.asked)
        return std::unexpected(std::move(turn.asked).error());
    AH_TRY(prepare::PreparedRun run,
           prepare::prepare(session, *std::move(turn.asked), id, generation));
    if (run.is_untouched())
        return std::unexpected(runtime::exec_runtime(session.runtime, session.rest));
    if (session.invocation.verb == words::Verb::restore) {
        return fail(Code::posture_unavailable,
                    "a checkpoint's command cannot be put behind the relay nor its profile "
                    "edited; restore needs egress open");
    }
    AH_CHECK(check_bundle_place(run.asked.bundle, prepare::bundle_of(session.invocation),
                                run.asked.config.root()));
    AH_CHECK(check_state_place(session.state_path));
    AH_TRY(const state::StateDir state, state::StateDir::open(session.state_path),
           "open the state directory");
    AH_TRY(const unsigned handed, inspect::count_handed(session.invocation));
    AH_TRY(const auto channels, inspect::check_descriptors(handed));
    auto& known = run.seen.inspection.other_channels;
    known.insert(known.end(), channels.begin(), channels.end());
    AH_TRY(Record record, claim(session, state, run, id));
    return Admitted{std::move(run), state, std::move(turn.lock), std::move(record)};
}

} // namespace

Result<int> create_or_run(const Session& session)
{
    const words::Invocation& call = session.invocation;
    if (call.operands.empty() || call.last("help") != nullptr) {
        return std::unexpected(
            runtime::exec_runtime(session.runtime, session.rest)); // nothing comes of it
    }
    if (call.operands.size() != 1)
        return fail(Code::invalid_request, "more than one container id");
    AH_TRY(const ContainerId id, ContainerId::parse(call.operands[0]));
    AH_TRY(const std::string generation, state::random_generation());
    auto admitted = admit(session, id, generation);
    if (admitted)
        return carry_out(session, *std::move(admitted));
    // Nothing is written below a path that somebody else could turn.
    const auto state = check_state_place(session.state_path)
                           ? state::StateDir::open(session.state_path)
                           : fail(Code::network_setup_failed, {});
    if (state)
        leave_refusal(session, *state, id, generation, admitted.error());
    return std::unexpected(std::move(admitted).error());
}

} // namespace anchorhold::verbs
