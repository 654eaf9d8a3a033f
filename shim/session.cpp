// SPDX-License-Identifier: Apache-2.0
#include "shim/session.hpp"

#include "hooks/files/file_owner.hpp"
#include "hooks/files/whole_file.hpp"
#include "hooks/state/state_path.hpp"
#include "shim/policy_files.hpp"
#include "shim/runtime/runtime.hpp"
#include "shim/verbs/create.hpp"
#include "shim/verbs/delete.hpp"
#include "shim/verbs/exec.hpp"
#include "shim/verbs/start.hpp"
#include "shim/verbs/update.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace anchorhold {
namespace {

constexpr const char* default_policy = "/etc/anchorhold/policy.json";

std::optional<std::string> environment(const char* name)
{
    const char* const value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): one thread
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

RootFacts root_facts()
{
    // moby/sys/userns: any other map, or one that cannot be read, is not the initial one's.
    const auto read = files::read_file("/proc/self/uid_map", 65536);
    const std::optional<std::string> map = read ? *read : std::nullopt;
    RootFacts facts;
    facts.euid_0 = ::geteuid() == 0;
    facts.initial_user_namespace = !map || state::state_path_for(0, *map, "") == "/run/anchorhold";
    facts.xdg_runtime_dir = environment("XDG_RUNTIME_DIR");
    facts.user = environment("USER");
    return facts;
}

Result<std::string> root_of(const words::Invocation& call)
{
    if (const words::OptionAt* const root = call.last("root")) {
        // runc cleans the path as text before it follows links (filepath.Abs), crun does not, and
        // resolves a relative one below the bundle.
        const std::filesystem::path path(root->value.empty() ? "." : root->value);
        if (call.flavour == words::Flavour::runc)
            return state::resolve_root(std::filesystem::absolute(path).lexically_normal().string());
        if (path.is_relative()) {
            return fail(Code::invalid_request, "--root " + in_quotes(root->value) +
                                                   " is relative, which crun resolves below the "
                                                   "bundle; name it from /");
        }
        return state::resolve_root(path.string());
    }
    return state::resolve_root(default_root(call.flavour, root_facts()));
}

Result<std::optional<Record>> record_named(const state::StateDir& state, const std::string& root,
                                           const std::string& word)
{
    const auto id = ContainerId::parse(word);
    if (!id)
        return std::optional<Record>();
    return state.read(RunKey::of(root, *id));
}

// Returns the runtime that made the run which some word of the command line names.
std::optional<std::string> recorded_runtime(const Session& session)
{
    const auto found = state::StateDir::existing(session.state_path);
    const std::optional<state::StateDir> state = found ? *found : std::nullopt;
    if (!state)
        return std::nullopt;
    for (const words::Flavour flavour : {words::Flavour::runc, words::Flavour::crun}) {
        const auto root = root_of(words::read_invocation(session.rest, flavour));
        for (const std::string& word : session.rest) {
            const auto read =
                root ? record_named(*state, *root, word) : Result<std::optional<Record>>();
            const std::optional<Record> record = read ? *read : std::nullopt;
            if (record && runtime::first_fit({record->delegate}))
                return record->delegate;
        }
    }
    return std::nullopt;
}

Result<std::string> choose_runtime(const Session& session)
{
    if (session.own.runtime || session.policy) {
        return runtime::find_runtime(session.own.runtime,
                                     session.policy ? session.policy->runtime : std::nullopt);
    }
    if (auto path = recorded_runtime(session))
        return *std::move(path);
    return runtime::find_runtime(std::nullopt, std::nullopt);
}

// Returns whose command line a program reads. A link called runc may lead to crun.
words::Flavour flavour_behind(const std::string& path)
{
    if (words::flavour_of(path) == words::Flavour::crun)
        return words::Flavour::crun;
    const auto target = state::resolve_root(path);
    return words::flavour_of(target ? *target : path);
}

// Returns the first of our own option's fault and the errors among the results.
template <typename... Results>
std::optional<Error> creation_obstacle(const std::optional<Error>& wrong, const Results&... results)
{
    std::optional<Error> first = wrong;
    const auto keep = [&first](const auto& result) {
        if (!first && !result)
            first = result.error();
    };
    (keep(results), ...);
    return first;
}

// Reads the policy into the session.
void read_policy(Session& session)
{
    const bool named = session.own.policy.has_value();
    const auto read = read_policy_files(session.policy_path,
                                        named ? WithoutPolicy::refused : WithoutPolicy::fine);
    session.policy = read ? merge_policy(*read) : Result<Policy>(std::unexpected(read.error()));
    if (!read)
        return;
    if (read->policy)
        session.policy_files.push_back(read->policy->path);
    for (const PolicyFile& file : read->drop_ins)
        session.policy_files.push_back(file.path);
}

} // namespace

std::optional<std::string> profile_in_name(std::string_view argv0)
{
    constexpr std::string_view ours = "anchorhold-";
    argv0.remove_prefix(argv0.rfind('/') + 1);
    if (!argv0.starts_with(ours))
        return std::nullopt;
    argv0.remove_prefix(ours.size());
    if (argv0.empty() || argv0 == "hook" || argv0 == "relay" || argv0 == "gate")
        return std::nullopt;
    return std::string(argv0);
}

std::string default_root(words::Flavour flavour, const RootFacts& facts)
{
    const std::string below = facts.xdg_runtime_dir.value_or("");
    if (flavour == words::Flavour::crun)
        return below.empty() ? "/run/crun" : below + "/crun";
    const bool rootless =
        !facts.euid_0 || (!facts.initial_user_namespace && facts.user.value_or("") != "root");
    return below.empty() || !rootless ? "/run/runc" : below + "/runc";
}

Session open_session(std::span<const char* const> argv)
{
    Session session;
    words::Split split = words::split_own_options(argv.empty() ? argv : argv.subspan(1));
    session.own = std::move(split.own);
    session.rest = std::move(split.rest);
    if (!argv.empty())
        session.argv0_profile = profile_in_name(argv[0]);
    session.policy_path = session.own.policy.value_or(default_policy);
    read_policy(session);
    // A relative one is wrong, and may not be looked for where the caller happens to stand.
    const bool named = session.own.state && session.own.state->starts_with('/');
    const auto state_path =
        named ? Result<std::string>(*session.own.state) : state::default_state_path();
    if (state_path)
        session.state_path = *state_path;
    if (auto path = choose_runtime(session)) {
        session.runtime = *std::move(path);
    } else {
        session.obstacle = std::move(path).error();
    }
    session.invocation = words::read_invocation(session.rest, flavour_behind(session.runtime));
    if (session.invocation.verb == words::Verb::other) {
        session.creation_obstacle = creation_obstacle(split.wrong, session.policy);
        return session;
    }
    const auto root = root_of(session.invocation);
    if (root)
        session.root = *root;
    session.creation_obstacle = creation_obstacle(split.wrong, session.policy, root, state_path);
    return session;
}

Result<int> carry_out(const Session& session)
{
    if (session.obstacle)
        return std::unexpected(*session.obstacle);
    switch (session.invocation.verb) {
    case words::Verb::create:
    case words::Verb::run:
    case words::Verb::restore:
        AH_CHECK(words::check_words(session.invocation));
        if (session.creation_obstacle)
            return std::unexpected(*session.creation_obstacle);
        return verbs::create_or_run(session);
    case words::Verb::start: return verbs::start_container(session);
    case words::Verb::exec: return verbs::exec_process(session);
    case words::Verb::update: return verbs::update_container(session);
    case words::Verb::remove: return verbs::delete_container(session);
    case words::Verb::other:
        return std::unexpected(runtime::exec_runtime(session.runtime, session.rest));
    }
    std::abort(); // a byte that is no Verb
}

std::string records_folder(const Session& session)
{
    if (!session.policy || ::geteuid() != 0 || files::is_rootless())
        return {};
    return session.policy->records.value_or("");
}

Result<std::optional<OwnRun>> find_own_run(const Session& session)
{
    const words::Invocation& call = session.invocation;
    std::vector<std::string> ids;
    if (call.unknown) {
        ids = session.rest;
    } else if (!call.operands.empty()) {
        ids = {call.operands[0]};
    }
    if (ids.empty() || session.state_path.empty() || session.root.empty())
        return std::optional<OwnRun>();
    AH_TRY(const auto state, state::StateDir::existing(session.state_path),
           "open the state directory");
    if (!state)
        return std::optional<OwnRun>();
    for (const std::string& word : ids) {
        const auto id = ContainerId::parse(word);
        if (!id)
            continue;
        const RunKey key = RunKey::of(session.root, *id);
        AH_TRY(auto record, state->read(key), "read the run's record");
        if (record)
            return OwnRun{*state, key, *std::move(record)};
    }
    return std::optional<OwnRun>();
}

} // namespace anchorhold
