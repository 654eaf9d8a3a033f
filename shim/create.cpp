// SPDX-License-Identifier: Apache-2.0
// create, run and restore. The order is the promise (DESIGN 3): everything that can be refused is
// refused before anything is made; the record stands before the first change to the host; the lock
// is free again before the runtime below starts, because its hook takes it.
#include "hooks/original.hpp"
#include "hooks/process.hpp"
#include "hooks/teardown.hpp"
#include "shim/delegate.hpp"
#include "shim/prepare.hpp"
#include "shim/private_log.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace anchorhold {

namespace {

constexpr std::size_t swept_at_create = 8;

// Is this container left alone whatever its config.json says?
bool left_alone_anyway(const Session& session, const ContainerId& id)
{
    if (!session.policy)
        return false;
    const auto choice =
        choose_profile(*session.policy, {}, session.own.profile, session.argv0_profile);
    const auto request = choice ? resolve(*session.policy, {}, *choice, id)
                                : Result<Request>(std::unexpected(choice.error()));
    const auto decision = request ? decide(*request, HostCaps{true, true})
                                  : Result<Decision>(std::unexpected(request.error()));
    return decision && decision->untouched;
}

// An edit mark is written by us and never believed (DESIGN 5): only a live run of that key and
// generation whose config.json is this very text makes the file ours; then it is left as it is.
Status check_mark(const StateDir& state, const Prepared& prepared, const RunKey& key)
{
    AH_TRY(const auto record, state.read(key), "read the run's record");
    if (record && record->state == RunState::planned && is_alive(record->creator) &&
        *prepared.mark == record->key + "." + record->generation &&
        record->config_digest == sha256_hex(prepared.original))
        return {};
    return fail(Code::invalid_request,
                "annotation dev.anchorhold.run is written by anchorhold alone; remove it "
                "(a config.json that a killed run left edited is put back by anchorhold gc)");
}

Status write_resolv_conf(const StateDir& state, const RunKey& key)
{
    const std::string path = state.inside_path(key) + "/resolv.conf";
    const UniqueFd file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0444));
    constexpr std::string_view text = "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n";
    if (!file ||
        ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
        ::fchmod(file.get(), 0444) != 0)
        return fail_errno("write " + path, errno);
    return {};
}

// Writes the record and what teardown needs, under the run's lock.
Status claim(const Session& session, const StateDir& state, const Prepared& prepared,
             const ContainerId& id)
{
    const RunKey key = RunKey::of(session.root, id);
    AH_TRY(const Torn left, teardown(state, key), "clear what an earlier run left");
    const Error taken{Code::invalid_request, 0,
                      "a container with this id is already there; delete it first"};
    if (left == Torn::still_owned || left == Torn::foreign)
        return std::unexpected(taken);
    AH_TRY(const RunLock lock, RunLock::take(state, key), "lock the run");
    AH_TRY(const auto other, state.read(key), "read the run's record");
    if (other)
        return std::unexpected(taken);
    AH_TRY(const Record record, first_record(session, prepared, id), "");
    AH_CHECK(state.make_run(key), "make the run's folder");
    AH_CHECK(write_resolv_conf(state, key), "");
    AH_CHECK(keep_original(state, key, prepared.original), "keep config.json");
    AH_CHECK(state.write(record), "write the record");
    return {};
}

// What the runtime below left us with: its status, an error of ours to report, or the container.
Result<int> conclude(const Session& session, const StateDir& state, const RunKey& key,
                     const Record& ours, int status, PrivateLog& log)
{
    auto record = state.read(key);
    const bool known = record && *record && (*record)->generation == ours.generation;
    const bool ran = known && (*record)->state == RunState::enforced;
    const bool mine = session.invocation.verb == Verb::run && ran;
    if (status == 0 || mine) {
        log.pass_on();
        if (session.invocation.verb == Verb::run && known)
            (void)teardown(state, key, ours.generation); // a live init keeps it; gc comes again
        return status;
    }
    Error reason{Code::delegate_failed, 0, ""};
    if (known && !(*record)->reason.empty() && (*record)->state == RunState::failed)
        reason.what = (*record)->reason;                // the hook's own words
    (void)abandon(state, key, ours.generation, reason); // what is left over is gc's
    if (reason.what.empty()) {
        log.pass_on_one_error(); // the runtime's own line, on stderr it stands already
        return status;
    }
    reason.code = Code::network_setup_failed;
    return std::unexpected(std::move(reason));
}

Result<int> carry_out(const Session& session, const StateDir& state, const Prepared& prepared,
                      const ContainerId& id)
{
    const RunKey key = RunKey::of(session.root, id);
    AH_CHECK(claim(session, state, prepared, id), "");
    AH_TRY(const auto record, state.read(key), "read the record back");
    if (!record)
        return fail(Code::network_setup_failed, "read the record back: it is gone");
    const auto give_up = [&](Error reason) -> Result<int> {
        (void)abandon(state, key, record->generation, reason); // the first error is the story
        return std::unexpected(std::move(reason));
    };
    if (auto written = prepared.bundle.write_config(prepared.edited.text); !written)
        return give_up(std::move(written).error());
    auto log = PrivateLog::open(session, state.run_path(key));
    if (!log)
        return give_up(std::move(log).error());
    auto status = run_delegate(session.delegate, log->words());
    if (!status)
        return give_up(std::move(status).error());
    return conclude(session, state, key, *record, *status, *log);
}

} // namespace

Result<int> create_or_run(const Session& session)
{
    const Invocation& call = session.invocation;
    if (call.operands.empty() || call.last("help") != nullptr)
        return std::unexpected(
            exec_delegate(session.delegate, session.rest)); // nothing comes of it
    if (call.operands.size() != 1)
        return fail(Code::invalid_request, "more than one container id");
    AH_TRY(const ContainerId id, ContainerId::parse(call.operands[0]), "");
    AH_TRY(const std::string generation, random_generation(), "");
    auto prepared = prepare(session, bundle_of(call), id, generation);
    if (!prepared && prepared.error().number == ENOENT && left_alone_anyway(session, id))
        return std::unexpected(exec_delegate(session.delegate, session.rest)); // it says so itself
    if (!prepared)
        return std::unexpected(std::move(prepared).error());
    if (prepared->decision.untouched && !prepared->mark)
        return std::unexpected(exec_delegate(session.delegate, session.rest));
    if (call.verb == Verb::restore)
        return fail(Code::posture_unavailable,
                    "a checkpoint's command cannot be put behind the relay nor its profile "
                    "edited; restore needs egress open");
    AH_TRY(const StateDir state, StateDir::open(session.state_path), "open the state directory");
    if (prepared->mark) {
        AH_CHECK(check_mark(state, *prepared, RunKey::of(session.root, id)), "");
        return std::unexpected(exec_delegate(session.delegate, session.rest));
    }
    AH_CHECK(check_owned_path(prepared->bundle.path(), "the bundle", Code::invalid_request), "");
    AH_TRY(const unsigned handed, count_handed(call), "");
    AH_TRY(const auto channels, check_descriptors(handed), "");
    auto& known = prepared->inspection.other_channels;
    known.insert(known.end(), channels.begin(), channels.end());
    (void)gc(state, Sweep::remove, swept_at_create); // a sweep that fails is the next one's work
    return carry_out(session, state, *prepared, id);
}

} // namespace anchorhold
