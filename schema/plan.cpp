// SPDX-License-Identifier: Apache-2.0
#include "schema/plan.hpp"

#include <algorithm>
#include <charconv>

namespace anchorhold {
namespace {

const std::vector<std::string> directory_options{"rbind", "ro", "nosuid", "nodev", "noexec"};

// What the relay is mounted with: it must run, so whatever its filesystem says, never noexec.
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

void plan_relay(const std::vector<EndpointPlace>& places, const RunPaths& paths, Plan& plan)
{
    plan.mounts.push_back(
        {paths.place + "/relay", paths.relay, relay_options(paths.relay_mount_options)});
    plan.mounts.push_back({paths.place + "/run", paths.inside, directory_options});
    for (const EndpointPlace& place : places)
        plan.mounts.push_back({directory_inside(place, paths), place.directory, directory_options});

    std::vector<std::string>& argv = plan.command_prefix;
    argv = {paths.place + "/relay", "--inside", paths.place + "/run", "--mark", paths.generation};
    if (plan.network == NetworkNamespace::own)
        argv.insert(argv.end(), {"--host-netns", paths.host_netns.text()});
    if (plan.network == NetworkNamespace::own && paths.host_cookie != 0)
        argv.insert(argv.end(), {"--host-cookie", std::to_string(paths.host_cookie)});
    if (plan.cover_resolv_conf)
        argv.emplace_back("--dns");
    for (const EndpointPlace& place : places) {
        argv.emplace_back("--endpoint");
        argv.push_back(std::to_string(place.endpoint.listen.number()) + "=" +
                       directory_inside(place, paths) + "/" + place.socket + "@" +
                       place.identity.text());
    }
    argv.emplace_back("--");
    plan.extra_pids = 1;
}

// Ports the relay could not bind as a plain user: the resolver's 53 and an endpoint's below 1024.
bool binds_low_port(const std::vector<EndpointPlace>& places, bool answers_dns)
{
    return answers_dns || std::ranges::any_of(places, [](const EndpointPlace& place) {
               return place.endpoint.listen.number() < 1024;
           });
}

void plan_confinement(const Switches& switches, Plan& plan)
{
    plan.drop_setkey_hook = true;
    plan.strip_net_caps = true;
    plan.strip_proxies = true;
    plan.seccomp = {.wanted = true, .deny_vsock = switches.vsock == Vsock::deny};
}

} // namespace

std::string FileIdentity::text() const
{
    return std::to_string(device) + ":" + std::to_string(inode);
}

Result<FileIdentity> FileIdentity::parse(std::string_view text, Code code)
{
    FileIdentity identity;
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    const auto device = std::from_chars(begin, end, identity.device);
    if (device.ec == std::errc() && device.ptr != end && *device.ptr == ':') {
        const auto inode = std::from_chars(device.ptr + 1, end, identity.inode);
        if (inode.ec == std::errc() && inode.ptr == end)
            return identity;
    }
    return fail(code, quoted(text) + " is not a device:inode");
}

Plan make_plan(const Request& request, const Decision& decision,
               const std::vector<EndpointPlace>& places, const RunPaths& paths)
{
    Plan plan;
    const bool open = decision.posture == Posture::open;
    plan.network = open ? NetworkNamespace::keep : NetworkNamespace::own;
    if (decision.untouched)
        return plan;
    if (!open)
        plan_confinement(request.switches, plan);
    plan.env = request.env;
    if (decision.technique == Technique::relay) {
        plan.cover_resolv_conf = !open && request.switches.dns == Dns::nxdomain;
        plan.free_low_ports = !open && binds_low_port(places, plan.cover_resolv_conf);
        plan_relay(places, paths, plan);
    }
    if (plan.cover_resolv_conf)
        plan.resolv_conf = paths.inside + "/resolv.conf";
    plan.hooks = true;
    plan.hook_path = paths.hook;
    plan.state_dir = paths.state_dir;
    plan.key = paths.key;
    plan.generation = paths.generation;
    plan.mark = paths.key + "." + paths.generation;
    return plan;
}

} // namespace anchorhold
