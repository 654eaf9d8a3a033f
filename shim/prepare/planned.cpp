// SPDX-License-Identifier: Apache-2.0
#include "shim/prepare/planned.hpp"

#include "hooks/state/process.hpp"
#include "schema/first_process.hpp"
#include "shim/config/view.hpp"
#include "shim/edit/mount_place.hpp"
#include "shim/inspect/descriptors.hpp"

#include <sys/statvfs.h>

namespace anchorhold::prepare {
namespace {

constexpr std::size_t most_told = 500; // bytes of findings in one line, about

// A bind mount may not clear flags that its filesystem has where a user namespace locks them
// (mount_namespaces(7)), so they are named; noexec would leave a relay that cannot run.
Result<std::vector<std::string>> relay_mount_options(const std::string& relay)
{
    struct statvfs flags = {};
    if (::statvfs(relay.c_str(), &flags) != 0)
        return fail_errno("ask for the mount flags of " + relay, errno);
    if ((flags.f_flag & ST_NOEXEC) != 0) {
        return fail(Code::posture_unavailable,
                    relay + " lies on a filesystem mounted noexec; install it elsewhere");
    }
    std::vector<std::string> options;
    if ((flags.f_flag & ST_NOATIME) != 0) {
        options.emplace_back("noatime");
    } else if ((flags.f_flag & ST_RELATIME) != 0) {
        options.emplace_back("relatime");
    }
    if ((flags.f_flag & ST_NODIRATIME) != 0)
        options.emplace_back("nodiratime");
    return options;
}

// Joins all findings while there is room: an engine that was refused takes the bundle away at once.
std::string sentence(const std::vector<inspect::Finding>& findings)
{
    std::string text;
    std::size_t told = 0;
    for (; told < findings.size() && text.size() < most_told; ++told)
        text += (told == 0 ? "" : "; ") + inspect::text_of(findings[told]);
    if (told < findings.size())
        text += "; and " + std::to_string(findings.size() - told) + " more";
    return text;
}

Status refuse_voids(const ChosenRun& chosen, const std::vector<inspect::Finding>& voids)
{
    if (!voids.empty() && chosen.request.switches.voids == Voids::refuse)
        return fail(Code::bundle_voids_posture, sentence(voids));
    return {};
}

Status refuse_findings(const ChosenRun& chosen, const inspect::Inspection& seen)
{
    if (!seen.refused.empty())
        return fail(Code::invalid_request, sentence(seen.refused));
    AH_CHECK(refuse_voids(chosen, seen.voids));
    // The namespace that a sandbox names was made for the pod, so replacing it is as asked.
    const bool of_a_pod = chosen.request.role != PodRole::none && chosen.pod.names_netns;
    if (chosen.request.require == Require::asked && !seen.replaced_netns.empty() && !of_a_pod) {
        return fail(Code::posture_unavailable,
                    "its network namespace (" + printable(seen.replaced_netns) +
                        ") would be replaced by a fresh one, and require: asked forbids that");
    }
    return {};
}

Result<FirstProcess> first_process(json::View config)
{
    FirstProcess first;
    AH_TRY(const auto args, config::elements(config::member(config, "process"), "args"));
    if (!args.empty()) {
        AH_TRY(first.program, args.front().bytes());
    }
    AH_TRY(const auto namespaces, config::elements(config::member(config, "linux"), "namespaces"));
    for (const json::View entry : namespaces) {
        AH_TRY(const std::string type, config::text_of(entry, "type"));
        AH_TRY(const std::string path, config::text_of(entry, "path"));
        first.own_pids = first.own_pids || (type == "pid" && path.empty());
    }
    return first;
}

Result<RunPaths> paths_of(const Session& session, const ChosenRun& chosen, const RunName& name)
{
    RunPaths paths{.hook = chosen.helpers.hook,
                   .relay = chosen.helpers.relay,
                   .gate = chosen.helpers.gate.value_or(""),
                   .relay_mount_options = {},
                   .state_dir = session.state_path,
                   .inside = session.state_path + "/runs/" + name.key.text() + "/inside",
                   .place = {},
                   .key = name.key.text(),
                   .generation = name.generation,
                   .host_netns = {},
                   .names_descriptor = 0,
                   .host_cookie = state::netns_cookie()};
    AH_TRY(paths.host_netns, state::namespace_of(0, "net"),
           "identify the host's network namespace");
    AH_TRY(paths.names_descriptor, inspect::one_more_descriptor(session.invocation),
           "read the command line");
    return paths;
}

} // namespace

Result<PlannedRun> plan(const Session& session, const AskedRun& asked, const ChosenRun& chosen,
                        const SeenRun& seen, const RunName& name)
{
    const json::View config = asked.config.root();
    AH_TRY(RunPaths paths, paths_of(session, chosen, name));
    Request request = chosen.request;
    const FirstProcessDuty duty = duty_of(request, chosen.decision);
    if (duty != FirstProcessDuty::none) {
        AH_TRY(paths.relay_mount_options, relay_mount_options(paths.relay), "mount the relay");
        auto place = edit::mount_place(config, seen.rootfs);
        if (!place && request.endpoints.empty())
            place.error().code = Code::posture_unavailable;
        AH_TRY(paths.place, std::move(place), "mount the relay");
    }
    FirstProcess first;
    if (duty == FirstProcessDuty::serve) {
        AH_TRY(first, first_process(config), "config.json");
        AH_TRY(request.switches.relay, relay_for(request.switches, first));
    }
    PlannedRun planned{.plan = make_plan(request, chosen.decision, seen.places, paths),
                       .edited = {},
                       .voids = seen.inspection.voids};
    planned.plan.close_devices = seen.inspection.close_devices;
    if (const std::string_view variable = subreaper_variable(first.program);
        planned.plan.relay == "inside" && !variable.empty())
        planned.plan.env.emplace_back(variable, "1");
    AH_CHECK(refuse_findings(chosen, seen.inspection));
    AH_TRY(planned.edited, edit::edit_config(asked.config, planned.plan), "edit config.json");
    if (!planned.edited.seccomp_obstacle.empty())
        planned.voids.push_back(
            {"linux.seccomp", planned.edited.seccomp_obstacle, "--security-opt seccomp="});
    AH_CHECK(refuse_voids(chosen, planned.voids));
    return planned;
}

} // namespace anchorhold::prepare
