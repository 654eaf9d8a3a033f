// SPDX-License-Identifier: Apache-2.0
// `doctor`: what this host can do, found out by doing it, and which engines know of us.
#include "hooks/state/probe.hpp"
#include "schema/json/json.hpp"
#include "schema/render.hpp"
#include "shim/runtime/ask_hook.hpp"
#include "shim/runtime/child.hpp"
#include "shim/runtime/helpers.hpp"
#include "shim/runtime/runtime.hpp"
#include "shim/tools/doctor_engines.hpp"
#include "shim/tools/doctor_policy.hpp"
#include "shim/tools/tool_list.hpp"

#include <algorithm>
#include <optional>
#include <unistd.h>

namespace anchorhold::tools {

namespace {

std::string reason_of(const state::ProbeAnswer& answer)
{
    if (answer.yes)
        return {};
    return answer.number == 0 ? answer.step : system_error(answer.step, answer.number).what;
}

std::string policy_text(const Session& session)
{
    if (!session.policy)
        return session.policy.error().what;
    if (session.policy_files.empty())
        return "none at " + session.policy_path + ": every container is severed";
    std::string text;
    for (const std::string& file : session.policy_files)
        text += (text.empty() ? "" : ", ") + file;
    return text;
}

// Returns why the runtime will not do. A crun built without seccomp leaves linux.seccomp out,
// silently (crun, seccomp.c).
std::optional<Error> runtime_trouble(const Session& session)
{
    if (session.obstacle)
        return session.obstacle;
    if (words::flavour_of(session.runtime) != words::Flavour::crun)
        return std::nullopt;
    const auto version = runtime::run_quietly(session.runtime, {"--version"});
    if (!version)
        return version.error();
    if (version->text.contains("+SECCOMP"))
        return std::nullopt;
    return Error{Code::posture_unavailable, 0,
                 session.runtime + " was built without seccomp; use one that has it"};
}

// Forwarding that is off is no fault of the host: what is severed or relayed needs none.
state::ProbeAnswer forwarding()
{
    const auto obstacle = state::obstacle_to_forwarding(state::ip_forward, Forwarding::require);
    return {.name = "forwarding",
            .yes = !obstacle,
            .step = obstacle.value_or(""),
            .remedy = obstacle ? "until then an allow list by packets is severed, but for engines "
                                 "that make the network themselves"
                               : ""};
}

struct Findings {
    std::vector<state::ProbeAnswer> answers;
    std::vector<ProfileState> profiles;
    std::optional<Error> trouble; // of the runtime
    std::vector<EngineState> engines;
};

std::string as_json(const Findings& found, const Session& session)
{
    json::Writer writer(json::Layout::pretty);
    writer.begin_object().key("probes").begin_array();
    for (const state::ProbeAnswer& answer : found.answers) {
        writer.begin_object().member("name", answer.name).key("yes").boolean(answer.yes);
        writer.member("step", answer.step).key("errno").integer(answer.number);
        writer.member("remedy", answer.remedy).end_object();
    }
    writer.end_array().key("engines");
    write_engines(writer, found.engines);
    writer.member("runtime", session.runtime);
    writer.member("policy", session.policy ? "" : session.policy.error().what).key("profiles");
    write_profiles(writer, found.profiles);
    writer.end_object();
    return writer.take();
}

std::string as_text(const Findings& found, const Session& session)
{
    std::vector<std::vector<std::string>> rows;
    for (const state::ProbeAnswer& answer : found.answers) {
        rows.push_back({answer.name,
                        answer.yes       ? "yes"
                        : answer.unknown ? "unknown"
                                         : "NO",
                        reason_of(answer)});
        if (!answer.remedy.empty())
            rows.push_back({"", "", "remedy: " + answer.remedy});
    }
    rows.push_back({"policy", session.policy ? "yes" : "NO", policy_text(session)});
    add_profile_rows(rows, found.profiles);
    rows.push_back({"runtime", found.trouble ? "NO" : "yes",
                    found.trouble ? found.trouble->what : session.runtime});
    add_engine_rows(rows, found.engines);
    return render_table(rows);
}

} // namespace

Result<int> tool_doctor(const Session& session, const ToolCall& call, ToolOutput& output)
{
    AH_TRY(const runtime::Helpers helpers, runtime::find_helpers());
    AH_TRY(const state::StateDir state, state::StateDir::open(session.state_path),
           "open the state directory");
    Findings found;
    AH_TRY(found.answers,
           state::probe_host(
               state, {helpers.relay, helpers.hook, helpers.gate},
               [&helpers] { return runtime::ask_network(helpers.hook); }, state::Freshness::again));
    const bool able = std::ranges::all_of(found.answers, &state::ProbeAnswer::yes);
    if (session.policy)
        found.profiles = look_at_profiles(*session.policy, found.answers);
    found.answers.push_back(forwarding());
    found.trouble = runtime_trouble(session);
    found.engines = look_at_engines(call.config);
    output.text = call.json ? as_json(found, session) : as_text(found, session);
    const bool fit = able && session.policy && are_fit(found.profiles) && !found.trouble;
    return fit && !some_told_wrongly(found.engines) ? 0 : 1;
}

} // namespace anchorhold::tools
