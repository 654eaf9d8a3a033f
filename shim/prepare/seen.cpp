// SPDX-License-Identifier: Apache-2.0
#include "shim/prepare/seen.hpp"

#include "schema/rules/gate_request.hpp"
#include "schema/rules/reachability.hpp"
#include "shim/config/view.hpp"
#include "shim/inspect/broker_advice.hpp"
#include "shim/inspect/endpoint_check.hpp"
#include "shim/inspect/network_advice.hpp"
#include "shim/policy_files.hpp"
#include "shim/prepare/given_hosts.hpp"
#include "shim/prepare/made_files.hpp"
#include "shim/prepare/own_addresses.hpp"
#include "shim/prepare/pinned_names.hpp"
#include "shim/prepare/writable_tmp.hpp"

#include <algorithm>
#include <iterator>

namespace anchorhold::prepare {
namespace {

std::string rootfs_of(json::View config, const config::Bundle& bundle)
{
    const auto root = config.find("root");
    const auto path = root ? root->find("path") : std::nullopt;
    const auto text = path ? path->string() : Result<std::string>("");
    if (!text || text->empty())
        return bundle.path();
    return text->front() == '/' ? *text : bundle.path() + "/" + *text;
}

// Returns what packets may do; nothing where there are none. What a gate serves is looked up when
// it is dialled.
Result<std::optional<rules::Network>> network_of(const Session& session, const ChosenRun& chosen,
                                                 const std::optional<rules::GateRules>& gate)
{
    if (gate)
        return rules::gate_network(*gate);
    const Posture posture = chosen.decision.posture;
    if (chosen.joins_pod()) // the names of the pod, for the hosts file
        return chosen.pod.holder.value_or(Record()).network;
    if (posture != Posture::sealed && posture != Posture::filtered)
        return std::optional<rules::Network>();
    rules::Network network;
    network.pool = session.policy->pool;
    for (const Endpoint& endpoint : chosen.request.endpoints) {
        if (const auto* const target = std::get_if<TcpTarget>(&endpoint.to))
            network.broker_ports.push_back(target->port.number());
    }
    std::ranges::sort(network.broker_ports);
    network.broker_ports.erase(std::ranges::unique(network.broker_ports).begin(),
                               network.broker_ports.end());
    if (posture == Posture::filtered) {
        network.enable_forwarding = chosen.request.switches.forwarding == Forwarding::enable;
        AH_TRY(network.names, pin_names(chosen.helpers, chosen.request.allow), "resolve the names");
        rules::compile(chosen.request.allow, session.policy->deny, network);
    }
    return network;
}

Result<std::vector<inspect::SocketServer>>
find_servers(const Session& session, const Request& request, const inspect::CommandUser& user)
{
    std::vector<inspect::SocketServer> servers;
    for (std::size_t i = 0; i < request.endpoints.size(); ++i) {
        if (!std::holds_alternative<UnixTarget>(request.endpoints[i].to)) {
            AH_CHECK(inspect::check_listener(request.endpoints[i], request.switches.tcp));
            continue;
        }
        const auto permitted =
            request.bounded[i] ? std::optional(session.policy->sockets) : std::nullopt;
        AH_TRY(inspect::SocketServer found,
               inspect::find_endpoint(request.endpoints[i], permitted, user, request.endpoints));
        servers.push_back(std::move(found));
    }
    return servers;
}

Result<inspect::Inspection> inspect_here(const Session& session, const AskedRun& asked,
                                         const ChosenRun& chosen,
                                         const std::vector<EndpointPlace>& places,
                                         const ContainerId& id)
{
    if (chosen.decision.posture == Posture::open)
        return inspect::Inspection();
    inspect::InspectionContext context;
    context.id = id.text();
    context.bundle = asked.bundle.path();
    context.own_paths = {chosen.helpers.self,  chosen.helpers.hook,
                         chosen.helpers.relay, session.state_path,
                         session.policy_path,  drop_in_folder(session.policy_path),
                         session.runtime,      asked.bundle.path()};
    if (chosen.helpers.gate)
        context.own_paths.push_back(*chosen.helpers.gate);
    context.allow_vsock = chosen.request.switches.vsock == Vsock::allow;
    context.places = places;
    context.call = session.invocation;
    context.pod_inits = chosen.pod.inits;
    context.joins_pod = chosen.joins_pod();
    AH_TRY(inspect::Inspection found, inspect::inspect_bundle(asked.config.root(), context));
    if (chosen.joins_pod() || chosen.decision.technique == Technique::in_place)
        found.replaced_netns.clear(); // that namespace is kept
    return found;
}

// Adds what the operator could do better.
Status advise(const AskedRun& asked, const ChosenRun& chosen,
              const std::vector<inspect::SocketServer>& servers, SeenRun& seen)
{
    std::vector<std::string>& advice = seen.inspection.advice;
    if (chosen.decision.posture != Posture::open) {
        AH_TRY(auto of_network, inspect::network_advice(asked.config.root(), chosen.decision));
        std::ranges::move(of_network, std::back_inserter(advice));
        for (const inspect::SocketServer& server : servers) {
            if (auto of_broker = inspect::broker_advice(server, seen.user))
                advice.push_back(std::move(*of_broker));
        }
    }
    if (seen.gate && !seen.gate->endpoints.empty() &&
        chosen.request.switches.on_broker_lost == OnBrokerLost::stop)
        advice.emplace_back("\"on_broker_lost\": \"stop\" does not hear of what the gate dials");
    if (chosen.request.role == PodRole::sandbox)
        return {}; // the pause process of a sandbox writes nothing
    if (auto of_tmp = tmp_advice(asked.config.root(), seen.rootfs, seen.user))
        advice.push_back(std::move(*of_tmp));
    return {};
}

// Counts the rules of the allow list that lead somewhere, and names the others.
Status count_destinations(const ChosenRun& chosen, SeenRun& seen)
{
    constexpr std::size_t most_counted = 256; // each rule is compared with each
    if (chosen.decision.posture != Posture::filtered || !seen.network)
        return {};
    seen.destinations = chosen.request.allow.size();
    if (seen.destinations > most_counted) {
        seen.inspection.advice.push_back("more than " + std::to_string(most_counted) +
                                         " rules: which of them reach something is not counted");
        return {};
    }
    rules::Network network = *seen.network;
    AH_TRY(const auto own, own_addresses());
    network.node.insert(network.node.end(), own.begin(), own.end());
    std::vector<rules::AllowRule> fixed = chosen.request.allow;
    if (seen.gate) { // a name leads where it leads when it is dialled
        std::erase_if(fixed, [](const rules::AllowRule& rule) {
            return std::holds_alternative<rules::NamePattern>(rule.to);
        });
    }
    const auto without = rules::rules_without_reach(network, fixed);
    seen.destinations = chosen.request.allow.size() - without.size();
    std::ranges::move(without, std::back_inserter(seen.inspection.advice));
    return {};
}

} // namespace

Result<SeenRun> look(const Session& session, const AskedRun& asked, const ChosenRun& chosen,
                     const ContainerId& id)
{
    const json::View config = asked.config.root();
    SeenRun seen;
    AH_TRY(seen.user, inspect::command_user(config), "read process.user");
    std::vector<inspect::SocketServer> servers;
    if (!chosen.joins_pod()) { // else the relay of the pod dials them
        AH_TRY(servers, find_servers(session, chosen.request, seen.user));
    }
    for (const inspect::SocketServer& server : servers)
        seen.places.push_back(server.place);
    if (chosen.decision.technique == Technique::gate) {
        AH_TRY(seen.gate, rules::gate_rules(chosen.request, chosen.decision, *session.policy));
    }
    AH_TRY(seen.network, network_of(session, chosen, seen.gate));
    AH_TRY(seen.inspection, inspect_here(session, asked, chosen, seen.places, id));
    seen.rootfs = rootfs_of(config, asked.bundle);
    if (const auto name = config.find("hostname"))
        seen.hostname = name->string().value_or("");
    std::vector<std::string> made; // where we mount a file, whether the engine does or not
    if (chosen.decision.posture == Posture::filtered) {
        seen.given_hosts = given_hosts(config, seen.rootfs, seen.inspection.sources);
        made.emplace_back("hosts");
    }
    if (chosen.decision.technique == Technique::gate)
        made.emplace_back("resolv.conf");
    if (!made.empty())
        seen.mount_points = made_files(config, seen.rootfs, made, session.state_path);
    std::ranges::copy(chosen.missing, std::back_inserter(seen.inspection.advice));
    AH_CHECK(count_destinations(chosen, seen));
    AH_CHECK(advise(asked, chosen, servers, seen));
    return seen;
}

} // namespace anchorhold::prepare
