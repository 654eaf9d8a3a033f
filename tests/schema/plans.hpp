// SPDX-License-Identifier: Apache-2.0
// Requests, and the parts of the plans that must come of them.
#pragma once

#include "schema/plan.hpp"

#include <doctest/doctest.h>

namespace anchorhold::plans {

inline Request asking(Egress egress)
{
    Request request;
    request.asked = request.egress = egress;
    return request;
}

inline Endpoint endpoint(std::string name, std::int64_t listen, std::string_view to)
{
    return {std::move(name), *Port::from(listen, Code::invalid_request),
            *parse_target(to, Code::invalid_request)};
}

inline RunPaths paths()
{
    RunPaths paths;
    paths.hook = "/usr/libexec/anchorhold/anchorhold-hook";
    paths.relay = "/usr/libexec/anchorhold/anchorhold-relay";
    paths.relay_mount_options = {"nodev", "noatime", "noexec"};
    paths.state_dir = "/run/anchorhold";
    paths.inside = "/run/anchorhold/runs/0123456789ab/inside";
    paths.place = "/dev/anchorhold";
    paths.key = "0123456789ab";
    paths.generation = "00112233445566ff";
    paths.host_netns = {4, 4026531840};
    paths.host_cookie = 77;
    return paths;
}

inline const EndpointPlace model{endpoint("model", 8080, "unix:/run/brokers/42/broker.sock"),
                                 "/run/brokers/42",
                                 "broker.sock",
                                 {24, 99}};
inline const EndpointPlace search{
    endpoint("search", 9000, "unix:/run/search/1/s"), "/run/search/1", "s", {24, 100}};

inline Plan planned(Request request, std::vector<EndpointPlace> places,
                    GivenNetns given = GivenNetns::fresh)
{
    for (const EndpointPlace& place : places)
        request.endpoints.push_back(place.endpoint);
    const auto decision = decide(request, {true, true, true, true, {}}, given);
    REQUIRE_MESSAGE(decision.has_value(), decision.error().what);
    return make_plan(request, *decision, places, paths());
}

inline Request over_veth(Egress egress, std::vector<Endpoint> endpoints)
{
    Request request = asking(egress);
    request.switches.tcp = Tcp::veth;
    request.endpoints = std::move(endpoints);
    if (egress == Egress::allowlist)
        request.allow = *rules::parse_allow("x.org, 192.0.2.0/24");
    return request;
}

// Returns the plan of a run on a host that has the gate.
inline Plan gated(Egress egress, std::vector<Endpoint> endpoints,
                  const std::vector<EndpointPlace>& places)
{
    Request request = over_veth(egress, std::move(endpoints));
    request.switches = Switches();
    for (const EndpointPlace& place : places)
        request.endpoints.push_back(place.endpoint);
    const auto decision = decide(request, {true, true, true, true, {}, true});
    REQUIRE_MESSAGE(decision.has_value(), decision.error().what);
    return make_plan(request, *decision, places, paths());
}

// Returns the parts that every run gets unless it is left alone.
inline Plan hooked()
{
    Plan plan;
    plan.hooks = true;
    plan.hook_path = "/usr/libexec/anchorhold/anchorhold-hook";
    plan.state_dir = "/run/anchorhold";
    plan.key = "0123456789ab";
    plan.generation = "00112233445566ff";
    plan.mark = "0123456789ab.00112233445566ff";
    return plan;
}

inline Plan confined()
{
    Plan plan = hooked();
    plan.network = NetworkNamespace::own;
    plan.drop_setkey_hook = true;
    plan.strip_net_caps = true;
    plan.strip_proxies = true;
    plan.seccomp = {true, true};
    plan.notice = "/dev/anchorhold/README";
    plan.env = {{"ANCHORHOLD_README", plan.notice}};
    return plan;
}

inline const std::vector<std::string> of_directory{"rbind", "ro", "nosuid", "nodev", "noexec"};

inline std::vector<MountEdit> model_mounts()
{
    return {{"/dev/anchorhold/relay",
             "/usr/libexec/anchorhold/anchorhold-relay",
             // Never noexec, and no flag twice.
             {"bind", "ro", "nosuid", "nodev", "noatime"}},
            {"/dev/anchorhold/run", "/run/anchorhold/runs/0123456789ab/inside", of_directory},
            {"/dev/anchorhold/README",
             "/run/anchorhold/runs/0123456789ab/inside/notice",
             {"bind", "ro", "nosuid", "nodev", "noexec"}},
            {"/dev/anchorhold/endpoint/model", "/run/brokers/42", of_directory}};
}

// Returns the plan with a first process that looks and then becomes the command.
inline Plan looking(Plan plan)
{
    plan.mounts = model_mounts();
    plan.mounts.pop_back();
    plan.command_prefix = {"/dev/anchorhold/relay",
                           "--inside",
                           "/dev/anchorhold/run",
                           "--mark",
                           "00112233445566ff",
                           "--host-netns",
                           "4:4026531840",
                           "--host-cookie",
                           "77",
                           "--"};
    return plan;
}

// Returns the plan with a first process that looks and stays to answer name queries.
inline Plan answering(Plan plan)
{
    plan = looking(std::move(plan));
    plan.command_prefix.insert(plan.command_prefix.end() - 1, "--dns");
    plan.free_low_ports = true;
    plan.extra_pids = 1;
    plan.relay = "inside";
    return plan;
}

// Returns the plan with more words for its first process.
inline Plan told(Plan plan, const std::vector<std::string>& words)
{
    std::vector<std::string>& argv = plan.command_prefix;
    argv.insert(argv.end() - 1, words.begin(), words.end());
    return plan;
}

inline const std::vector<std::string> of_model{
    "--endpoint", "8080=/dev/anchorhold/endpoint/model/broker.sock@24:99"};

inline const Endpoint database = endpoint("db", 5432, "tcp:host:9000");

inline Plan filtered()
{
    Plan plan = confined();
    plan.strip_proxies = false;
    plan.cover_hosts = true;
    plan.hosts = "/run/anchorhold/runs/0123456789ab/inside/hosts";
    plan.cover_resolv_conf = true;
    plan.resolv_conf = "/run/anchorhold/runs/0123456789ab/inside/resolv.conf";
    return plan;
}

} // namespace anchorhold::plans
