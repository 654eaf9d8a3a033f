// SPDX-License-Identifier: Apache-2.0
// Everything happens under the run's lock. The last record is moved to ended/ before the folder
// goes, so a crash in between leaves a folder without a record, which the next comer removes. What
// cannot be removed keeps its folder and its record (state ended or failed, with the reason): that
// is the tombstone gc comes back to.
#include "hooks/state/teardown.hpp"

#include "hooks/state/original.hpp"
#include "hooks/state/process.hpp"
#include "hooks/state/socket_file.hpp"
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

// Pids mean something only in the pid namespace and the boot they were read in.
Result<bool> is_foreign(const Record& record)
{
    AH_TRY(const std::string boot, boot_id(), "judge the record");
    AH_TRY(const FileIdentity pids, namespace_of(0, "pid"), "judge the record");
    return record.boot_id != boot || record.host_pidns != pids;
}

bool has_live_owner(const Record& record)
{
    switch (record.state) {
    case RunState::planned:
    case RunState::failed: return is_alive(record.creator); // who has yet to read the reason
    case RunState::enforced: return is_alive(record.init);
    case RunState::ended: return false;
    }
    std::abort();
}

enum class Ownership : std::uint8_t { foreign, alive, gone }; // gone: the run may be removed

Result<Ownership> judge(const Record& record)
{
    AH_TRY(const bool foreign, is_foreign(record), "run " + record.key);
    if (foreign)
        return Ownership::foreign;
    return has_live_owner(record) ? Ownership::alive : Ownership::gone;
}

void mark_finished(Record& record)
{
    if (record.state == RunState::planned && record.code.empty()) {
        record.code = name_of(Code::delegate_failed);
        record.reason = "the process that created the container was gone before it was confined";
    }
    const bool never_held = record.state == RunState::planned || record.state == RunState::failed;
    record.state = never_held ? RunState::failed : RunState::ended;
    if (record.ended == 0) // else a tombstone's
        record.ended = std::time(nullptr);
}

void add_reason(Record& record, const std::string& reason)
{
    if (record.reason.contains(reason))
        return; // a tombstone is tried again and again
    record.reason += (record.reason.empty() ? "" : "; ") + reason;
}

// Whatever else goes wrong is no absence.
bool has_listener(const std::string& path)
{
    const UniqueFd place(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!place)
        return errno != ENOENT;
    const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    return connect_to_file(socket.get(), place.get()) != ECONNREFUSED;
}

// What the relay saw cannot leave the container but as its exit status, which the engine alone is
// told. So we look ourselves, and say what we see.
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

// Goes on after an error; the last one is handed back and stands in the record.
Status bury(const StateDir& state, Record record, Unplug unplug)
{
    AH_TRY(const RunKey key, RunKey::parse(record.key), "tear down");
    mark_finished(record);
    note_lost_broker(record);
    auto returned = put_back(state, record); // the folder holds the only copy of what stood there
    auto unplugged = unplug_with(state, record, unplug);
    auto emptied = state.remove_inside(key);
    auto cleared = emptied ? std::move(returned) : std::move(emptied);
    if (auto done = unplugged ? std::move(cleared) : std::move(unplugged); !done) {
        add_reason(record, done.error().what);
        (void)state.write_last(record); // the error below says what matters
        return std::unexpected(std::move(done).error().in("tear down run " + record.key));
    }
    const auto archived = state.archive(record);
    AH_CHECK(state.remove_run(key), "tear down run " + record.key);
    return archived;
}

// Both need the run's lock.
Result<TeardownOutcome> teardown_locked(const StateDir& state, const RunKey& key,
                                        std::string_view generation, Unplug unplug)
{
    AH_TRY(const auto record, state.read(key), "tear down");
    if (!record) { // made, and never written: a crash's. Or emptied: what is mounted outlasts that
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
    AH_CHECK(bury(state, *record, unplug), "clean up");
    return TeardownOutcome::removed;
}

enum class Look : std::uint8_t { leave, remove };

// Most runs are alive, so their locks are not touched: owner first, lock when he seems gone.
Result<Look> look_at(const StateDir& state, const RunKey& key)
{
    AH_TRY(const auto record, state.read(key), "look at");
    if (!record)
        return Look::remove; // or being made: the lock will tell
    AH_TRY(const Ownership ownership, judge(*record), "look at");
    return ownership == Ownership::gone ? Look::remove : Look::leave;
}

// Whether it was removed, or in a dry run would be.
Result<bool> sweep_one(const StateDir& state, const RunKey& key, Sweep mode, Unplug unplug)
{
    AH_TRY(const Look first, look_at(state, key), "sweep");
    if (first == Look::leave)
        return false;
    AH_TRY(const auto lock, RunLock::try_take(state, key), "sweep");
    if (!lock || !state.has_run(key))
        return false;
    if (mode == Sweep::remove) {
        AH_TRY(const TeardownOutcome torn, teardown_locked(state, key, {}, unplug), "sweep");
        return torn == TeardownOutcome::removed;
    }
    AH_TRY(const Look again, look_at(state, key), "sweep");
    return again == Look::remove;
}

// From a random place on when only some are looked at: the same few must not hide the others for
// ever.
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
        (void)RunLock::try_take(state, key); // taken and let go: a killed holder's file goes too
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
    if (!record) // not even written
        return state.remove_run(key);
    if (record->generation != generation)
        return {};
    if (record->state != RunState::failed || record->code.empty()) { // else the hook knew better
        record->code = name_of(reason.code);
        record->reason = reason.what;
    }
    record->state = RunState::failed;
    return bury(state, *std::move(record), unplug);
}

Result<SweepResult> gc(const StateDir& state, Sweep mode, std::size_t limit, Unplug unplug)
{
    SweepResult swept;
    AH_TRY(const auto keys, keys_to_look_at(state, limit), "gc");
    swept.looked_at = keys.size();
    for (const RunKey& key : keys) {
        const auto removed = sweep_one(state, key, mode, unplug);
        if (!removed) {
            swept.failed.push_back(key.text() + ": " + removed.error().what);
        } else if (*removed) {
            swept.removed.push_back(key.text());
        }
    }
    if (mode == Sweep::remove)
        AH_CHECK(state.drop_dead_locks(), "gc");
    if (mode == Sweep::remove && limit == 0)
        AH_CHECK(state.drop_old_ended(), "gc");
    return swept;
}

} // namespace anchorhold::state
