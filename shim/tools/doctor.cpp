// SPDX-License-Identifier: Apache-2.0
// `doctor`: what this host can do, found out by doing it, and which engines know of us.
#include "hooks/state/files.hpp"
#include "hooks/state/probe.hpp"
#include "schema/json/json.hpp"
#include "schema/render.hpp"
#include "shim/runtime/ask_hook.hpp"
#include "shim/runtime/child.hpp"
#include "shim/runtime/helpers.hpp"
#include "shim/runtime/runtime.hpp"
#include "shim/tools/tool_list.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <unistd.h>

namespace anchorhold::tools {

namespace {

struct EngineHint {
    const char* name;
    const char* program;
    std::array<const char*, 2> settings; // where it would name us
    const char* example;                 // what to copy
};

constexpr std::array engines{
    EngineHint{"containerd",
               "/usr/bin/containerd",
               {"/etc/containerd/config.toml", "/etc/containerd/conf.d/anchorhold.toml"},
               "contrib/containerd"},
    EngineHint{
        "podman",
        "/usr/bin/podman",
        {"/etc/containers/containers.conf", "/etc/containers/containers.conf.d/anchorhold.conf"},
        "contrib/podman"},
    EngineHint{
        "docker", "/usr/bin/dockerd", {"/etc/docker/daemon.json", nullptr}, "contrib/docker"},
    EngineHint{"cri-o",
               "/usr/bin/crio",
               {"/etc/crio/crio.conf", "/etc/crio/crio.conf.d/anchorhold.conf"},
               "contrib/crio"},
};

constexpr std::size_t most_settings = std::size_t{1024} * 1024;

struct EngineState {
    std::string name;
    bool set_up = false;
    std::string says;
};

std::vector<EngineState> look_at_engines()
{
    std::vector<EngineState> found;
    for (const EngineHint& engine : engines) {
        if (::access(engine.program, X_OK) != 0)
            continue;
        EngineState state{engine.name, false,
                          std::string("does not name anchorhold; copy from ") + engine.example};
        for (const char* const path : engine.settings) {
            const auto text = path != nullptr ? state::read_file(path, most_settings)
                                              : Result<std::optional<std::string>>();
            if (text && *text && (*text)->contains("anchorhold")) {
                state = {engine.name, true,
                         std::string("names anchorhold in ") + path +
                             "; whether it is called: anchorhold verify " + engine.name};
            }
        }
        found.push_back(std::move(state));
    }
    return found;
}

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
    if (::access(session.policy_path.c_str(), F_OK) != 0)
        return "none at " + session.policy_path + ": every container is severed";
    return session.policy_path;
}

// A crun built without it leaves linux.seccomp out, silently (crun, seccomp.c).
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

// Not a fault of the host: what is severed or relayed needs none.
state::ProbeAnswer forwarding()
{
    const auto obstacle = state::obstacle_to_forwarding(state::ip_forward, Forwarding::require);
    return {.name = "forwarding",
            .yes = !obstacle,
            .step = obstacle.value_or(""),
            .remedy = obstacle ? "until then an allow list is severed, but for engines that make "
                                 "the network themselves"
                               : ""};
}

std::string as_json(const std::vector<state::ProbeAnswer>& answers,
                    const std::vector<EngineState>& found, const Session& session)
{
    json::Writer writer(json::Layout::pretty);
    writer.begin_object().key("probes").begin_array();
    for (const state::ProbeAnswer& answer : answers) {
        writer.begin_object().member("name", answer.name).key("yes").boolean(answer.yes);
        writer.member("step", answer.step).key("errno").integer(answer.number);
        writer.member("remedy", answer.remedy).end_object();
    }
    writer.end_array().key("engines").begin_array();
    for (const EngineState& engine : found) {
        writer.begin_object().member("name", engine.name).key("set_up").boolean(engine.set_up);
        writer.member("says", engine.says).end_object();
    }
    writer.end_array().member("runtime", session.runtime);
    writer.member("policy", session.policy ? "" : session.policy.error().what).end_object();
    return writer.take();
}

std::string as_text(const std::vector<state::ProbeAnswer>& answers,
                    const std::vector<EngineState>& found, const Session& session)
{
    std::vector<std::vector<std::string>> rows;
    for (const state::ProbeAnswer& answer : answers) {
        rows.push_back({answer.name, answer.yes ? "yes" : "NO", reason_of(answer)});
        if (!answer.remedy.empty())
            rows.push_back({"", "", "remedy: " + answer.remedy});
    }
    rows.push_back({"policy", session.policy ? "yes" : "NO", policy_text(session)});
    const auto trouble = runtime_trouble(session);
    rows.push_back({"runtime", trouble ? "NO" : "yes", trouble ? trouble->what : session.runtime});
    for (const EngineState& engine : found)
        rows.push_back({engine.name, engine.set_up ? "yes" : "no", engine.says});
    return render_table(rows);
}

} // namespace

Result<int> tool_doctor(const Session& session, const ToolCall& call, ToolOutput& output)
{
    AH_TRY(const runtime::Helpers helpers, runtime::find_helpers());
    AH_TRY(const state::StateDir state, state::StateDir::open(session.state_path),
           "open the state directory");
    AH_TRY(auto answers,
           state::probe_host(
               state, helpers.relay, [&helpers] { return runtime::ask_network(helpers.hook); },
               state::Freshness::again));
    const bool able = std::ranges::all_of(answers, &state::ProbeAnswer::yes);
    answers.push_back(forwarding());
    const auto found = look_at_engines();
    output.text = call.json ? as_json(answers, found, session) : as_text(answers, found, session);
    return able && session.policy && !runtime_trouble(session) ? 0 : 1;
}

} // namespace anchorhold::tools
