// SPDX-License-Identifier: Apache-2.0
// `precreate`: podman without a runtime of ours. Its hook of that stage (oci-hooks(5), "precreate")
// is handed the config.json that podman is about to write and answers with the one it shall write.
// The hooks in that one do the rest. Missing this way is all that needs the runtime's command line:
// the second gate at start, the edit of an exec, and the teardown by delete (poststop and gc do
// it).
#include "hooks/state/container_state.hpp"
#include "hooks/state/original.hpp"
#include "hooks/state/process.hpp"
#include "hooks/state/teardown.hpp"
#include "shim/config/view.hpp"
#include "shim/prepare/first_record.hpp"
#include "shim/prepare/prepare.hpp"
#include "shim/runtime/ask_hook.hpp"
#include "shim/tools/tool_list.hpp"
#include "shim/verbs/claim.hpp"
#include "shim/verbs/refusal.hpp"

#include <csignal>
#include <sys/prctl.h>
#include <unistd.h>

namespace anchorhold::tools {
namespace {

constexpr std::size_t most_config = std::size_t{16} * 1024 * 1024;
constexpr std::chrono::seconds patience(5);
constexpr std::size_t id_length = 64; // of podman's ids, hex digits
constexpr const char* no_root =
    "/"; // which runtime comes, and what its root is, podman alone knows

bool is_podmans_id(std::string_view text)
{
    return text.size() == id_length &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// "/PARENT/libpod-ID", "PARENT.slice:libpod:ID".
std::string_view id_in_cgroup(std::string_view path)
{
    constexpr std::string_view prefix = "libpod-";
    path.remove_prefix(path.find_last_of("/:") + 1);
    if (path.starts_with(prefix))
        path.remove_prefix(prefix.size());
    return path;
}

// ".../overlay-containers/ID/userdata/hosts"
std::string_view id_in_source(std::string_view path)
{
    constexpr std::string_view below = "/userdata/";
    const std::size_t end = path.find(below);
    if (end == std::string_view::npos)
        return {};
    path = path.substr(0, end);
    return path.substr(path.rfind('/') + 1);
}

// Finds the container's id, which config.json does not name. `up` compares it with the id that the
// runtime gives.
Result<ContainerId> find_id(json::View config)
{
    AH_TRY(const std::string cgroup,
           config::text_of(config::member(config, "linux"), "cgroupsPath"));
    if (const auto id = id_in_cgroup(cgroup); is_podmans_id(id))
        return ContainerId::parse(id);
    AH_TRY(const auto mounts, config::elements(config, "mounts"));
    for (const json::View mount : mounts) {
        AH_TRY(const std::string source, config::text_of(mount, "source"));
        if (const auto id = id_in_source(source); is_podmans_id(id))
            return ContainerId::parse(id);
    }
    return fail(Code::invalid_request,
                "no container id in it, neither in linux.cgroupsPath nor in a mount's source; give "
                "podman the runtime instead of the hook");
}

// Edits config.json with the run's own folder as its bundle for the moment. When the holder of the
// lock is killed, gc removes the folder.
Result<std::string> edit_in_place(const Session& session, const state::StateDir& state,
                                  const ContainerId& id, const ProcessIdentity& podman,
                                  const std::string& generation, const std::string& text)
{
    const RunKey key = RunKey::of(session.root, id);
    AH_CHECK(state::keep_original(state, key, text), "keep config.json");
    const std::string kept = state.run_path(key) + "/config.json";
    auto run = prepare::prepare_bundle(session, state.run_path(key), id, generation);
    if (::unlink(kept.c_str()) != 0)
        return fail_errno("remove " + kept, errno);
    if (!run)
        return std::unexpected(std::move(run).error());
    if (run->is_untouched()) {
        AH_CHECK(state.remove_run(key));
        return text;
    }
    AH_TRY(Record record, prepare::first_record(session, *run, id));
    record.bundle.clear();
    record.creator = podman;
    AH_CHECK(verbs::write_inside(state, key, *run, record));
    AH_CHECK(state.write(record), "write the record");
    return std::move(run->planned.edited.text);
}

// Returns the podman that called us. It owns the run until that is confined, and we end with it.
Result<ProcessIdentity> find_podman()
{
    const pid_t parent = ::getppid();
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL); // cannot fail
    AH_TRY(const auto podman, state::identify(parent), "look at the calling process");
    if (!podman || ::getppid() != parent)
        return fail(Code::delegate_failed, "the podman that called is gone");
    return *podman;
}

// Abandons a run that this podman planned before and did not start. podman holds the container's
// lock, so that run is over; podman's service lives on and would own it for ever.
Status clear_planned(const state::StateDir& state, const RunKey& key, const ProcessIdentity& podman)
{
    AH_TRY(const auto record, state.read(key), "read the run's record");
    const bool planned =
        record && (record->state == RunState::planned || record->state == RunState::failed);
    if (!planned || record->creator != podman)
        return {};
    return state::abandon(state, key, record->generation,
                          {Code::delegate_failed, 0, "podman did not start it"},
                          runtime::unplug_by_hook);
}

Result<std::string> plan_in_place(const Session& session, const state::StateDir& state,
                                  const ContainerId& id, const std::string& generation,
                                  const std::string& text)
{
    const RunKey key = RunKey::of(session.root, id);
    AH_TRY(const ProcessIdentity podman, find_podman());
    AH_CHECK(clear_planned(state, key, podman));
    AH_TRY(const state::RunLock lock, verbs::take_id(state, key));
    AH_CHECK(state.make_run(key), "make the run's folder");
    auto edited = edit_in_place(session, state, id, podman, generation, text);
    if (!edited) {
        verbs::leave_refusal(session, state, id, generation, edited.error());
        (void)state.remove_run(key); // the first error is the story
    }
    return edited;
}

} // namespace

Result<int> tool_precreate(const Session& session, const ToolCall& /*call*/, ToolOutput& output)
{
    if (session.creation_obstacle)
        return std::unexpected(*session.creation_obstacle);
    AH_TRY(const std::string text,
           state::read_to_end(STDIN_FILENO, most_config, state::Deadline(patience)),
           "read config.json");
    AH_TRY(const json::Document config, json::Document::parse(text), "config.json");
    AH_TRY(const ContainerId id, find_id(config.root()), "config.json");
    Session ours = session;
    ours.root = no_root;
    AH_TRY(const state::StateDir state, state::StateDir::open(session.state_path),
           "open the state directory");
    AH_TRY(const std::string generation, state::random_generation());
    auto edited = plan_in_place(ours, state, id, generation, text);
    if (!edited)
        return std::unexpected(std::move(edited).error().in("precreate " + id.text()));
    output.text = *std::move(edited);
    return 0;
}

} // namespace anchorhold::tools
