// SPDX-License-Identifier: Apache-2.0
#include "schema/plan.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace anchorhold {
namespace {

// The shares that a group has by default (cgroups(7), cpu.shares). Engines give a sandbox 2,
// because its process never runs. With 2 the relay would get a thousandth of a processor beside a
// busy container of its pod.
constexpr std::int64_t default_cpu_shares = 1024;

const std::vector<std::string> file_options{"bind", "ro", "nosuid", "nodev", "noexec"};
const std::vector<std::string> directory_options{"rbind", "ro", "nosuid", "nodev", "noexec"};

// Returns the options of the relay's bind mount. The relay must run, so noexec is never among them,
// even where its filesystem has it.
std::vector<std::string> relay_options(const std::vector<std::string>& of_filesystem)
{
    std::vector<std::string> options{"bind", "ro", "nosuid", "nodev"};
    for (const std::string& option : of_filesystem) {
        if (option != "noexec" && std::ranges::find(options, option) == options.end())
            options.push_back(option);
    }
    return options;
}

std::string directory_inside(const EndpointPlace& place, const RunPaths& paths)
{
    return paths.place + "/endpoint/" + place.endpoint.name;
}

// Returns what the relay dials for `endpoint`: its socket as mounted, or "host" for this machine.
// The address of "host" is the link's gateway, which the hook chooses later.
std::string relay_target(const Endpoint& endpoint, const std::vector<EndpointPlace>& places,
                         const RunPaths& paths)
{
    if (const auto* const target = std::get_if<TcpTarget>(&endpoint.to))
        return "host:" + std::to_string(target->port.number());
    for (const EndpointPlace& place : places) {
        if (place.endpoint == endpoint) {
            return directory_inside(place, paths) + "/" + place.socket + "@" +
                   place.identity.text();
        }
    }
    std::abort(); // a unix: endpoint that nobody looked up: a bug
}

// Returns the endpoints that the relay serves: all but those of the gate.
std::vector<Endpoint> relayed(const Request& request)
{
    std::vector<Endpoint> endpoints = request.endpoints;
    if (request.switches.tcp == Tcp::gate) {
        std::erase_if(endpoints, [](const Endpoint& endpoint) {
            return std::holds_alternative<TcpTarget>(endpoint.to);
        });
    }
    return endpoints;
}

// Plans the first process as far as every run with one has it: it looks at its network namespace
// and at the mark that the hook leaves. The namespace is checked even when an engine made it,
// because a path can lead to the host's.
void plan_look(const RunPaths& paths, bool confined, Plan& plan)
{
    plan.mounts.push_back(
        {paths.place + "/relay", paths.relay, relay_options(paths.relay_mount_options)});
    plan.mounts.push_back({paths.place + "/run", paths.inside, directory_options});
    if (!plan.notice.empty())
        plan.mounts.push_back({plan.notice, paths.inside + "/notice", file_options});
    std::vector<std::string>& argv = plan.command_prefix;
    argv = {paths.place + "/relay", "--inside", paths.place + "/run", "--mark", paths.generation};
    if (confined)
        argv.insert(argv.end(), {"--host-netns", paths.host_netns.text()});
    if (confined && paths.host_cookie != 0)
        argv.insert(argv.end(), {"--host-cookie", std::to_string(paths.host_cookie)});
}

// Returns whether the relay answers names.
bool answers_dns(const Plan& plan)
{
    return plan.cover_resolv_conf && !plan.has_gate;
}

// Plans what the first process does beyond looking: it stays, listens and answers.
void plan_service(const Request& request, const std::vector<EndpointPlace>& places,
                  const RunPaths& paths, Plan& plan)
{
    for (const EndpointPlace& place : places)
        plan.mounts.push_back({directory_inside(place, paths), place.directory, directory_options});
    std::vector<std::string>& argv = plan.command_prefix;
    if (answers_dns(plan))
        argv.emplace_back("--dns");
    if (answers_dns(plan) && paths.names_descriptor != 0) {
        argv.insert(argv.end(), {"--names", std::to_string(paths.names_descriptor)});
        plan.names_descriptor = paths.names_descriptor;
    }
    const bool aside = request.switches.relay == Relay::child;
    if (aside)
        argv.emplace_back("--step-aside");
    plan.relay = aside ? "child" : "inside";
    if (request.switches.on_broker_lost == OnBrokerLost::stop && !relayed(request).empty()) {
        argv.insert(argv.end(),
                    {"--stop-when-lost", std::to_string(request.switches.broker_lost_after) + ":" +
                                             std::to_string(request.switches.broker_lost_grace)});
        plan.on_broker_lost = "stop";
    }
    for (const Endpoint& endpoint : relayed(request)) {
        argv.emplace_back("--endpoint");
        argv.push_back(std::to_string(endpoint.listen.number()) + "=" +
                       relay_target(endpoint, places, paths));
    }
    plan.extra_pids = 1;
}

// Returns whether the relay listens on ports that a plain user cannot bind: 53 for its resolver, or
// an endpoint's port below 1024.
bool binds_low_port(const Request& request, bool answers_dns)
{
    return answers_dns || std::ranges::any_of(relayed(request), [](const Endpoint& endpoint) {
               return endpoint.listen.number() < 1024;
           });
}

bool has_name(const Request& request)
{
    return std::ranges::any_of(request.allow, [](const rules::AllowRule& rule) {
        return std::holds_alternative<rules::NamePattern>(rule.to);
    });
}

// Plans what is taken from every confined run. A run that is filtered by packets has a network, so
// it keeps its proxies. Names of a list exist inside where somebody answers them, so a gate's
// resolv.conf is ours whatever `dns` says.
void plan_confinement(const Request& request, const Decision& decision, const RunPaths& paths,
                      Plan& plan)
{
    const bool filtered = decision.posture == Posture::filtered;
    plan.drop_setkey_hook = plan.network == NetworkNamespace::own;
    plan.strip_net_caps = true;
    plan.has_gate = decision.technique == Technique::gate;
    plan.strip_proxies = !filtered || plan.has_gate;
    plan.exempt_relay = filtered && !plan.has_gate && !request.endpoints.empty();
    plan.cover_hosts = filtered;
    if (filtered)
        plan.hosts = paths.inside + "/hosts";
    plan.cover_resolv_conf =
        (request.switches.dns == Dns::nxdomain && (filtered || !request.endpoints.empty())) ||
        (plan.has_gate && filtered && has_name(request));
    if (plan.cover_resolv_conf)
        plan.resolv_conf = paths.inside + "/resolv.conf";
    plan.seccomp = {.wanted = true, .deny_vsock = request.switches.vsock == Vsock::deny};
}

} // namespace

void add_notice(std::vector<std::pair<std::string, std::string>>& env, const std::string& path)
{
    static constexpr std::string_view variable = "ANCHORHOLD_README";
    if (std::ranges::none_of(env, [](const auto& one) { return one.first == variable; }))
        env.emplace_back(variable, path);
}

FirstProcessDuty duty_of(const Request& request, const Decision& decision)
{
    if (decision.untouched)
        return FirstProcessDuty::none;
    const bool open = decision.posture == Posture::open;
    if (decision.technique == Technique::pod)
        return open ? FirstProcessDuty::none : FirstProcessDuty::look;
    const bool answers = decision.posture == Posture::filtered &&
                         decision.technique != Technique::gate &&
                         request.switches.dns == Dns::nxdomain;
    if (!relayed(request).empty() || answers)
        return FirstProcessDuty::serve;
    return open ? FirstProcessDuty::none : FirstProcessDuty::look;
}

Plan make_plan(const Request& request, const Decision& decision,
               const std::vector<EndpointPlace>& places, const RunPaths& paths)
{
    Plan plan;
    const bool open = decision.posture == Posture::open;
    // The pod's relay then serves this container too.
    const bool joins = decision.technique == Technique::pod;
    if (joins) {
        plan.network = NetworkNamespace::pods;
    } else if (open || decision.technique == Technique::in_place) {
        plan.network = NetworkNamespace::keep;
    }
    if (decision.untouched)
        return plan;
    if (!open)
        plan_confinement(request, decision, paths, plan);
    plan.env = request.env;
    if (!open && request.switches.notice == Notice::file) {
        plan.notice = paths.place + "/README";
        add_notice(plan.env, plan.notice);
    }
    const FirstProcessDuty duty = duty_of(request, decision);
    if (duty != FirstProcessDuty::none)
        plan_look(paths, !open, plan);
    if (duty == FirstProcessDuty::serve) {
        plan.free_low_ports = !open && binds_low_port(request, answers_dns(plan));
        plan_service(request, places, paths, plan);
        if (request.role == PodRole::sandbox)
            plan.least_cpu_shares = default_cpu_shares;
    }
    if (duty != FirstProcessDuty::none)
        plan.command_prefix.emplace_back("--");
    plan.hooks = true;
    plan.hook_path = paths.hook;
    plan.state_dir = paths.state_dir;
    plan.key = paths.key;
    plan.generation = paths.generation;
    plan.mark = paths.key + "." + paths.generation;
    return plan;
}

} // namespace anchorhold
