// SPDX-License-Identifier: Apache-2.0
// exec into a run of ours. The process is edited in a copy, which the runtime gets as
// /proc/self/fd/N. The file that the engine gave, the bundle's config.json and the command are
// never changed.
#include "shim/verbs/exec.hpp"

#include "shim/config/bundle.hpp"
#include "shim/edit/exec_process.hpp"
#include "shim/inspect/descriptors.hpp"
#include "shim/runtime/runtime.hpp"
#include "shim/session.hpp"
#include "shim/verbs/exec_check.hpp"
#include "shim/verbs/handed_file.hpp"
#include "shim/verbs/lost_run.hpp"

namespace anchorhold::verbs {
namespace {

// Returns the plan for an exec'd process: what held for the first process holds for it. With a
// broken policy the profile's variables are not known, and none is set.
Plan exec_plan(const Session& session, const Record& record)
{
    Plan plan;
    plan.strip_proxies = record.posture <= Posture::sealed || record.gate;
    plan.exempt_relay =
        record.posture == Posture::filtered && !record.gate && !record.endpoints.empty();
    if (session.policy) {
        if (const Profile* const profile = session.policy->find(record.profile))
            plan.env = profile->env;
    }
    if (!record.notice.empty())
        add_notice(plan.env, record.notice);
    return plan;
}

// Returns the process as the engine or the command line gives it; nothing when crun will use its
// own.
Result<std::optional<std::string>> process_given(const words::Invocation& call,
                                                 const Record& record)
{
    if (const words::OptionAt* const file = call.last("process")) {
        AH_TRY(auto text, read_handed(file->value, "the process"));
        return text;
    }
    if (call.flavour == words::Flavour::crun)
        return std::optional<std::string>();
    AH_TRY(const config::Bundle bundle, config::Bundle::open(record.bundle), "open the bundle");
    AH_TRY(auto config, bundle.read_config(), "read the bundle");
    AH_TRY(auto process, edit::process_from_flags(std::move(config), call));
    return process;
}

// Returns the runtime's words with the edited process in them.
Result<std::vector<std::string>> edited_words(const Session& session, const OwnRun& run)
{
    const Record& record = run.record;
    const words::Invocation& call = session.invocation;
    const Plan plan = exec_plan(session, record);
    AH_TRY(const unsigned handed, inspect::count_handed(call));
    AH_CHECK(inspect::check_descriptors(handed));
    AH_TRY(const auto given, process_given(call, record));
    AH_CHECK(check_exec(session, run, given ? *given : edit::process_from_crun_flags(call)));
    if (!given)
        return edit::edit_flags(session.rest, call, plan);
    AH_TRY(const std::string edited, edit::edit_process(*given, plan));
    AH_TRY(const std::string path, hand_over(edited, handed));
    if (const words::OptionAt* const file = call.last("process"))
        return words::with_value(session.rest, *file, path);
    std::vector<std::string> words = session.rest;
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(call.verb_index) + 1,
                 {"--process", path});
    return words;
}

} // namespace

Result<int> exec_process(const Session& session)
{
    AH_TRY(const auto run, find_own_run(session));
    if (!run)
        AH_CHECK(refuse_lost_run(session));
    if (!run || run->record.posture == Posture::open)
        return std::unexpected(runtime::exec_runtime(session.runtime, session.rest));
    AH_CHECK(words::check_words(session.invocation));
    AH_TRY(const auto words, edited_words(session, *run));
    return std::unexpected(runtime::exec_runtime(session.runtime, words));
}

} // namespace anchorhold::verbs
