// SPDX-License-Identifier: Apache-2.0
#include "shim/verbs/claim.hpp"

#include "hooks/state/process.hpp"
#include "hooks/state/teardown.hpp"
#include "schema/rules/hosts_file.hpp"
#include "shim/prepare/notice.hpp"
#include "shim/runtime/ask_hook.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace anchorhold::verbs {
namespace {

// Names are answered by the relay, or by the gate at the address that it gave lo. The gate asks
// another resolver first, so its answer may take longer.
std::string resolv_conf(const Record& record)
{
    if (!record.gate)
        return "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n";
    return "nameserver " + rules::dotted(rules::lo_address(record.gate->rules.handles)) + "\n";
}

Status write_for_inside(const state::StateDir& state, const RunKey& key, const char* name,
                        std::string_view text)
{
    const std::string path = state.inside_path(key) + "/" + name;
    const UniqueFd file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0444));
    if (!file ||
        ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
        ::fchmod(file.get(), 0444) != 0)
        return fail_errno("write " + path, errno);
    return {};
}

// Clears what an earlier run of this id left.
Status clear_leftovers(const state::StateDir& state, const RunKey& key, const Error& taken)
{
    if (!state.has_run(key))
        return {};
    AH_TRY(const state::TeardownOutcome left,
           state::teardown(state, key, {}, runtime::unplug_by_hook),
           "clear what an earlier run left");
    if (left == state::TeardownOutcome::still_owned || left == state::TeardownOutcome::foreign)
        return std::unexpected(taken);
    return {};
}

} // namespace

Result<state::RunLock> take_id(const state::StateDir& state, const RunKey& key)
{
    const Error taken{Code::invalid_request, 0,
                      "a container with this id is already there; delete it first"};
    AH_CHECK(clear_leftovers(state, key, taken));
    AH_TRY(state::RunLock lock, state::RunLock::take(state, key), "lock the run");
    AH_TRY(const auto other, state.read(key), "read the run's record");
    if (other)
        return std::unexpected(taken);
    return lock;
}

Status write_inside(const state::StateDir& state, const RunKey& key,
                    const prepare::PreparedRun& run, const Record& record)
{
    const prepare::SeenRun& seen = run.seen;
    const Record& network = run.chosen.joins_pod() ? *run.chosen.pod.holder : record;
    if (!record.notice.empty())
        AH_CHECK(write_for_inside(state, key, "notice", prepare::notice_text(record, network)));
    AH_CHECK(write_for_inside(state, key, "resolv.conf", resolv_conf(record)));
    if (!seen.network)
        return {};
    return write_for_inside(state, key, "hosts",
                            rules::hosts_file(*seen.network, seen.hostname, seen.given_hosts));
}

} // namespace anchorhold::verbs
