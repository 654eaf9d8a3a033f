// SPDX-License-Identifier: Apache-2.0
// Tears a run down. Everything happens under the run's lock.
//
// 1. Ownership: judge() decides whether the run may be removed at all.
// 2. The record is marked ended, or failed if the run never was enforced.
// 3. Its gate is ended, and what that refused goes into the record. The mount points that the
//    runtime had to make are removed, and the bundle's config.json is put back: the record says
//    where these are.
// 4. The run's network is taken away (unplug), and its inside/ is removed.
// 5. The last record is copied to where the policy wants it kept. If that fails, it says so.
// 6. It is moved to ended/.
// 7. The folder is removed. A crash between 6 and 7 leaves a folder without a record. The next
//    teardown removes it.
//
// If 3 or 4 fails, the folder stays, and so does its record (state ended or failed, with the
// reason). That is the tombstone: gc comes back to it and tries again.
#include "hooks/state/teardown.hpp"

#include "hooks/files/socket_file.hpp"
#include "hooks/state/ended_records.hpp"
#include "hooks/state/gate_process.hpp"
#include "hooks/state/mount_points.hpp"
#include "hooks/state/names_file.hpp"
#include "hooks/state/original.hpp"
#include "hooks/state/process.hpp"
#include "schema/file_identity.hpp"
#include "schema/unique_fd.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

namespace anchorhold::state {
namespace {

constexpr std::chrono::milliseconds patience_for_gate(500); // it writes its last report

// Returns the process that owns a run. An ended run has none, and pid 0 is nobody.
ProcessIdentity owner_of(const Record& record)
{
    switch (record.state) {
    case RunState::planned:
    case RunState::failed: return record.creator; // it still has to read the reason
    case RunState::enforced: return record.init;
    case RunState::ended: return {};
    }
    std::abort();
}

enum class Ownership : std::uint8_t {
    foreign, // another pid namespace: we cannot tell
    alive,   // the owner lives
    gone,    // the owner is gone, and the run may be removed
};

Result<Ownership> judge(const Record& record)
{
    AH_TRY(const Lives lives,
           look_for(owner_of(record), record.boot_id, record.host_pidns, record.created),
           "run " + record.key);
    switch (lives) {
    case Lives::yes: return Ownership::alive;
    case Lives::no: return Ownership::gone;
    case Lives::unknown: return Ownership::foreign;
    }
    std::abort();
}

void mark_finished(Record& record)
{
    if (record.state == RunState::planned && record.code.empty()) {
        record.code = name_of(Code::delegate_failed);
        record.reason = "the process that created the container was gone before it was confined";
    }
    const bool never_held = record.state == RunState::planned || record.state == RunState::failed;
    record.state = never_held ? RunState::failed : RunState::ended;
    if (record.ended == 0) // a tombstone keeps the time that it has
        record.ended = std::time(nullptr);
}

void add_reason(Record& record, const std::string& reason)
{
    if (record.reason.contains(reason))
        return; // a tombstone is tried again and again
    record.reason += (record.reason.empty() ? "" : "; ") + reason;
}

// Says whether anybody listens at the socket `path`. Only a missing file and ECONNREFUSED mean no:
// any other error does not show that nobody listens.
bool has_listener(const std::string& path)
{
    const UniqueFd place(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!place)
        return errno != ENOENT;
    const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    return files::connect_to_file(socket.get(), place.get()) != ECONNREFUSED;
}

void note_other_boot(Record& record)
{
    const auto boot = boot_id();
    if (boot && *boot != record.boot_id)
        add_reason(record, "the host was started anew");
}

// Adds to the record that a broker is gone. The relay sees that inside, but it can say so only by
// its exit status, and only the engine gets that. So we look ourselves.
void note_lost_broker(Record& record)
{
    if (record.state != RunState::ended || record.on_broker_lost.empty())
        return;
    for (const Endpoint& endpoint : record.endpoints) {
        const auto* const target = std::get_if<UnixTarget>(&endpoint.to);
        if (target != nullptr && !has_listener(target->path)) {
            add_reason(record, "broker lost: nobody listens at " + printable(target->path) +
                                   " for endpoint " + endpoint.name + ", seen at teardown");
            return;
        }
    }
}

Status unplug_with(const StateDir& state, Record& record, Unplug unplug)
{
    if (!record.network)
        return {};
    if (unplug == nullptr)
        return fail(Code::network_setup_failed, "nobody here can take its network away");
    return unplug(state, record);
}

// The run's gate ends with the container's first process. It may be slow, or the container may not
// have got that far. Nothing of another boot or pid namespace is ours to end.
Status end_gate_of(const Record& record)
{
    AH_TRY(const std::string boot, boot_id());
    AH_TRY(const FileIdentity pids, namespace_of(0, "pid"));
    const bool ours = record.gate && record.boot_id == boot && record.host_pidns == pids;
    return ours ? end_gate(record.gate->process, patience_for_gate) : Status();
}

// Removes the run, steps 2 to 7 above. Goes on after an error. Returns one of the errors and writes
// it into the record.
Result<TeardownOutcome> bury(const StateDir& state, Record record, Unplug unplug)
{
    AH_TRY(const RunKey key, RunKey::parse(record.key), "tear down");
    mark_finished(record);
    note_other_boot(record);
    note_lost_broker(record);
    auto gate_ended = end_gate_of(record);
    note_refused_names(state, record);
    note_gate_reports(state, record);
    remove_mount_points(state, record);
    auto returned = put_back(state, record);
    auto unplugged = unplug_with(state, record, unplug);
    auto emptied = state.remove_inside(key);
    auto cleared = emptied ? std::move(returned) : std::move(emptied);
    if (cleared)
        cleared = std::move(gate_ended);
    if (auto done = unplugged ? std::move(cleared) : std::move(unplugged); !done) {
        add_reason(record, done.error().what);
        (void)state.write_last(record); // if this fails, the error below is still returned
        return std::unexpected(std::move(done).error().in("tear down run " + record.key));
    }
    const bool kept = keep_record(record);
    const auto archived = state.archive(record);
    AH_CHECK(state.remove_run(key), "tear down run " + record.key);
    AH_CHECK(archived);
    return kept ? TeardownOutcome::removed : TeardownOutcome::removed_not_kept;
}

// Returns a record that names all that a run of this key can have left. It stands in for one that
// cannot be read: the key, which is the folder's name, is enough to find it.
Result<Record> stand_in(const RunKey& key, const Error& why)
{
    Record record;
    record.key = record.id = key.text();
    record.generation = no_generation;
    record.state = RunState::failed;
    record.posture = Posture::filtered;
    record.technique = Technique::veth;
    record.network.emplace();
    record.sentence = "Network: not known";
    record.code = name_of(Code::network_setup_failed);
    record.reason = "torn down by its key alone: " + why.what;
    record.created = std::time(nullptr);
    AH_TRY(record.boot_id, boot_id());
    AH_TRY(record.host_netns, namespace_of(0, "net"));
    AH_TRY(record.host_pidns, namespace_of(0, "pid"));
    return record;
}

// Tears down a run whose record is damaged, or was written by a newer version, if no process has
// anything of it.
Result<TeardownOutcome> teardown_unread(const StateDir& state, const RunKey& key, Unplug unplug,
                                        const Error& why)
{
    AH_TRY(const bool used, state.is_used(key), why.what);
    if (used)
        return fail(Code::network_setup_failed, why.what + "; a process has its folder mounted");
    AH_TRY(const Record record, stand_in(key, why), "tear down");
    AH_TRY(const TeardownOutcome outcome, bury(state, record, unplug), "clean up");
    return outcome;
}

// Tears the run down; the caller holds the run's lock.
Result<TeardownOutcome> teardown_locked(const StateDir& state, const RunKey& key,
                                        std::string_view generation, Unplug unplug)
{
    const auto read = state.read(key);
    if (!read)
        return teardown_unread(state, key, unplug, read.error());
    const std::optional<Record>& record = *read;
    if (!record) {
        // A crash left a folder before its first record was written. Or somebody emptied the
        // folder: a mount outlasts that, so it is removed here.
        (void)::umount2((state.run_path(key) + "/netns").c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
        AH_CHECK(state.remove_run(key), "tear down run " + key.text());
        return TeardownOutcome::removed;
    }
    if (!generation.empty() && record->generation != generation)
        return TeardownOutcome::foreign;
    AH_TRY(const Ownership ownership, judge(*record), "tear down");
    switch (ownership) {
    case Ownership::foreign: return TeardownOutcome::foreign;
    case Ownership::alive: return TeardownOutcome::still_owned;
    case Ownership::gone: break;
    }
    AH_TRY(const TeardownOutcome outcome, bury(state, *record, unplug), "clean up");
    return outcome;
}

enum class Look : std::uint8_t { leave, remove };

// Decides whether a run seems to be removable, without touching its lock. Most runs are alive, so
// the owner is looked at first and the lock is taken only when the owner seems to be gone.
Result<Look> look_at(const StateDir& state, const RunKey& key)
{
    const auto read = state.read(key);
    if (!read) {
        AH_TRY(const bool used, state.is_used(key), read.error().what);
        return used ? Result<Look>(std::unexpected(read.error())) : Look::remove;
    }
    const std::optional<Record>& record = *read;
    if (!record)
        return Look::remove; // the run may be in the making: then its lock is held
    AH_TRY(const Ownership ownership, judge(*record), "look at");
    return ownership == Ownership::gone ? Look::remove : Look::leave;
}

// Tears a run down if its owner is gone. Returns what came of it, `removed` if that would come of
// it in a dry run.
Result<TeardownOutcome> sweep_one(const StateDir& state, const RunKey& key, Sweep mode,
                                  Unplug unplug)
{
    AH_TRY(const Look first, look_at(state, key), "sweep");
    if (first == Look::leave)
        return TeardownOutcome::still_owned;
    AH_TRY(const auto lock, RunLock::try_take(state, key), "sweep");
    if (!lock || !state.has_run(key))
        return TeardownOutcome::still_owned;
    if (mode == Sweep::remove)
        return teardown_locked(state, key, {}, unplug);
    AH_TRY(const Look again, look_at(state, key), "sweep");
    return again == Look::remove ? TeardownOutcome::removed : TeardownOutcome::still_owned;
}

// Returns the runs to look at, at most `limit` of them. If that is not all, it starts at a random
// place: else the same few would hide the others for ever.
Result<std::vector<RunKey>> keys_to_look_at(const StateDir& state, std::size_t limit)
{
    AH_TRY(auto keys, state.runs(), "sweep");
    if (limit == 0 || keys.size() <= limit)
        return keys;
    std::uint32_t random = 0;
    (void)::getrandom(&random, sizeof random, GRND_NONBLOCK); // any place will do
    std::ranges::rotate(keys, keys.begin() + random % static_cast<std::ptrdiff_t>(keys.size()));
    keys.erase(keys.begin() + static_cast<std::ptrdiff_t>(limit), keys.end());
    return keys;
}

} // namespace

Result<TeardownOutcome> teardown(const StateDir& state, const RunKey& key,
                                 std::string_view generation, Unplug unplug)
{
    if (!state.has_run(key)) {
        (void)RunLock::try_take(state, key); // removes the lock file of a holder that was killed
        return TeardownOutcome::nothing_there;
    }
    AH_TRY(const RunLock lock, RunLock::take(state, key), "tear down run " + key.text());
    if (!state.has_run(key))
        return TeardownOutcome::nothing_there;
    return teardown_locked(state, key, generation, unplug);
}

Status abandon(const StateDir& state, const RunKey& key, std::string_view generation,
               const Error& reason, Unplug unplug)
{
    AH_TRY(const RunLock lock, RunLock::take(state, key), "abandon run " + key.text());
    AH_TRY(auto record, state.read(key), "abandon");
    if (!record) // the first record was never written
        return state.remove_run(key);
    if (record->generation != generation)
        return {};
    // A record that the hook marked failed keeps the hook's reason, which is more exact.
    if (record->state != RunState::failed || record->code.empty()) {
        record->code = name_of(reason.code);
        record->reason = reason.what;
    }
    record->state = RunState::failed;
    AH_CHECK(bury(state, *std::move(record), unplug));
    return {};
}

Result<SweepResult> gc(const StateDir& state, Sweep mode, std::size_t limit, Unplug unplug)
{
    SweepResult swept;
    AH_TRY(const auto keys, keys_to_look_at(state, limit), "gc");
    swept.looked_at = keys.size();
    for (const RunKey& key : keys) {
        const auto came = sweep_one(state, key, mode, unplug);
        if (!came) {
            swept.failed.push_back(key.text() + ": " + came.error().what);
        } else if (*came == TeardownOutcome::removed ||
                   *came == TeardownOutcome::removed_not_kept) {
            swept.removed.push_back(key.text());
        }
        if (came && *came == TeardownOutcome::removed_not_kept)
            swept.left.push_back(key.text() + ": its record is not kept; anchorhold show says why");
    }
    if (mode == Sweep::remove)
        AH_CHECK(state.drop_dead_locks(), "gc");
    if (mode == Sweep::remove && limit == 0)
        AH_CHECK(state.drop_old_ended(), "gc");
    return swept;
}

} // namespace anchorhold::state
