// SPDX-License-Identifier: Apache-2.0
#include "shim/prepare/prepare.hpp"

#include "hooks/state/probe.hpp"
#include "hooks/state/process.hpp"
#include "schema/first_process.hpp"
#include "schema/pod.hpp"
#include "shim/config/oci_keys.hpp"
#include "shim/config/view.hpp"
#include "shim/edit/mount_place.hpp"
#include "shim/inspect/broker_advice.hpp"
#include "shim/inspect/command_user.hpp"
#include "shim/inspect/namespaces.hpp"
#include "shim/prepare/pinned_names.hpp"
#include "shim/prepare/writable_tmp.hpp"
#include "shim/runtime/ask_hook.hpp"

#include <algorithm>
#include <array>
#include <sys/statvfs.h>

namespace anchorhold::prepare {

namespace {

constexpr std::size_t most_told = 500; // bytes of findings in one line, about
const HostCaps all_caps{
    .can_isolate = true, .can_relay = true, .can_seal = true, .can_filter = true};

bool looks_like_ours(std::string_view key)
{
    std::string folded;
    for (const char c : key) {
        if (c != ' ' && c != '\t')
            folded += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    return folded.starts_with(annotation_prefix);
}

// Our annotations and what looks like them; other people's keep their bytes, whatever they are.
Result<Annotations> annotations_of(json::View config)
{
    Annotations found;
    const auto member = config.find("annotations");
    if (!member || member->is_null())
        return found;
    AH_TRY(const auto entries, member->object());
    for (const json::View entry : entries) {
        if (entry.kind() != json::Kind::string)
            return std::unexpected(entry.expected("a string"));
        if (!looks_like_ours(entry.key()))
            continue;
        AH_TRY(std::string value, entry.string());
        found.emplace_back(entry.key(), std::move(value));
    }
    return found;
}

std::string rootfs_of(json::View config, const config::Bundle& bundle)
{
    const auto root = config.find("root");
    const auto path = root ? root->find("path") : std::nullopt;
    const auto text = path ? path->string() : Result<std::string>("");
    if (!text || text->empty())
        return bundle.path();
    return text->front() == '/' ? *text : bundle.path() + "/" + *text;
}

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

Result<HostCaps> host_caps(const Session& session, const runtime::Helpers& helpers,
                           const Request& request, GivenNetns given)
{
    AH_TRY(const state::StateDir state, state::StateDir::open(session.state_path),
           "open the state directory");
    const auto ask = [&helpers] { return runtime::ask_network(helpers.hook); };
    AH_TRY(const auto answers,
           state::probe_host(state, helpers.relay, ask, state::Freshness::cached),
           "probe this host");
    HostCaps caps = state::caps_of(answers);
    // What an engine made needs none of ours to be forwarded.
    const auto obstacle =
        given == GivenNetns::engines
            ? std::nullopt
            : state::obstacle_to_forwarding(state::ip_forward, request.switches.forwarding);
    if (caps.can_filter && obstacle) {
        caps.can_filter = false;
        caps.no_filter = *obstacle;
    }
    return caps;
}

// What packets may do; nothing where there are none.
Result<std::optional<rules::Network>> network_of(const Session& session, const Prepared& from)
{
    const Posture posture = from.decision.posture;
    if (from.joins_pod()) // its names, for the hosts file
        return from.pod.holder.value_or(Record()).network;
    if (posture != Posture::sealed && posture != Posture::filtered)
        return std::optional<rules::Network>();
    rules::Network network;
    network.pool = session.policy->pool;
    for (const Endpoint& endpoint : from.request.endpoints) {
        if (const auto* const target = std::get_if<TcpTarget>(&endpoint.to))
            network.broker_ports.push_back(target->port.number());
    }
    std::ranges::sort(network.broker_ports);
    network.broker_ports.erase(std::ranges::unique(network.broker_ports).begin(),
                               network.broker_ports.end());
    if (posture == Posture::filtered) {
        network.enable_forwarding = from.request.switches.forwarding == Forwarding::enable;
        AH_TRY(network.names, pin_names(from.helpers, from.request.allow), "resolve the names");
        rules::compile(from.request.allow, session.policy->deny, network);
    }
    return network;
}

Result<std::vector<inspect::SocketServer>>
find_servers(const Session& session, const Request& request, const inspect::CommandUser& user)
{
    std::vector<inspect::SocketServer> servers;
    for (std::size_t i = 0; i < request.endpoints.size(); ++i) {
        if (!std::holds_alternative<UnixTarget>(request.endpoints[i].to))
            continue; // its broker may start later, like any other peer of a connection
        const auto permitted =
            request.bounded[i] ? std::optional(session.policy->sockets) : std::nullopt;
        AH_TRY(inspect::SocketServer found,
               inspect::find_endpoint(request.endpoints[i], permitted, user, request.endpoints));
        servers.push_back(std::move(found));
    }
    return servers;
}

Status refuse_findings(const Prepared& prepared)
{
    const inspect::Inspection& seen = prepared.inspection;
    // All of them while there is room: an engine that was refused takes the bundle away at once.
    const auto sentence = [](const std::vector<inspect::Finding>& findings) {
        std::string text;
        std::size_t told = 0;
        for (; told < findings.size() && text.size() < most_told; ++told)
            text += (told == 0 ? "" : "; ") + findings[told].where + ": " + findings[told].what;
        if (told < findings.size())
            text += "; and " + std::to_string(findings.size() - told) + " more";
        return text;
    };
    if (!seen.refused.empty())
        return fail(Code::invalid_request, sentence(seen.refused));
    if (!seen.voids.empty() && prepared.request.switches.voids == Voids::refuse)
        return fail(Code::bundle_voids_posture, sentence(seen.voids));
    // What stood there was made for the pod.
    const bool of_a_pod = prepared.request.role != PodRole::none && prepared.pod.names_netns;
    if (prepared.request.require == Require::asked && !seen.replaced_netns.empty() && !of_a_pod) {
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

Result<Request> request_of(const Session& session, json::View config,
                           const Annotations& annotations, const ContainerId& id, PodPlace& place)
{
    AH_TRY(const Asked asked, read_annotations(annotations));
    AH_TRY(const ProfileChoice choice,
           choose_profile(*session.policy, asked, session.own.profile, session.argv0_profile),
           "choose a profile");
    if (makes_pods(session)) {
        AH_TRY(place, find_pod(session, config));
    }
    // Every container of a pod means the same socket by {id}.
    AH_TRY(const ContainerId named,
           ContainerId::parse(place.holder ? place.holder->id : id.text()));
    AH_TRY(Request request, resolve(*session.policy, asked, choice, named));
    request.role = place.role;
    return request;
}

// A list longer than the pod's gets the pod's.
void keep_the_pods_rules(const Record& holder, std::vector<rules::AllowRule>& rules)
{
    std::erase_if(rules, [&holder](const rules::AllowRule& rule) {
        return std::ranges::find(holder.allow, text_of(rule)) == holder.allow.end();
    });
}

// With the pod's network, or, asking for less, as if it were alone.
Status decide_here(const Session& session, json::View config, Prepared& into)
{
    const std::optional<Record>& holder = into.pod.holder;
    if (into.pod.role == PodRole::container && into.pod.names_netns && !holder) {
        return fail(
            Code::posture_unavailable,
            "the sandbox of its pod has no record of ours; create the pod with this handler, and "
            "with an egress that is not open");
    }
    if (holder) {
        AH_TRY(const auto joined, join_pod(into.request, *holder, session.policy->deny));
        into.decision = joined.value_or(Decision());
        if (joined)
            keep_the_pods_rules(*holder, into.request.allow);
    }
    if (into.joins_pod())
        return {};
    AH_TRY(const GivenNetns given, inspect::given_netns(config));
    AH_TRY(const HostCaps caps, host_caps(session, into.helpers, into.request, given));
    AH_TRY(into.decision, decide(into.request, caps, given));
    return {};
}

Status inspect(const Session& session, json::View config,
               const std::vector<inspect::SocketServer>& servers, const inspect::CommandUser& user,
               Prepared& into)
{
    if (into.decision.posture == Posture::open)
        return {};
    inspect::InspectionContext context;
    context.bundle = into.bundle.path();
    context.own_paths = {into.helpers.self,  into.helpers.hook,   into.helpers.relay,
                         session.state_path, session.policy_path, session.runtime,
                         into.bundle.path()};
    context.allow_vsock = into.request.switches.vsock == Vsock::allow;
    context.places = into.places;
    context.pod_inits = into.pod.inits;
    context.joins_pod = into.joins_pod();
    AH_TRY(into.inspection, inspect::inspect_bundle(config, context));
    if (into.joins_pod() || into.decision.technique == Technique::in_place)
        into.inspection.replaced_netns.clear(); // it stays
    for (const inspect::SocketServer& server : servers) {
        if (auto advice = inspect::broker_advice(server, user))
            into.inspection.advice.push_back(std::move(*advice));
    }
    return {};
}

void advise(json::View config, const std::string& rootfs, const inspect::CommandUser& user,
            Prepared& into)
{
    for (const rules::PinnedName& pinned :
         into.network ? into.network->names : std::vector<rules::PinnedName>()) {
        if (pinned.addresses.empty()) {
            into.inspection.advice.push_back(pinned.name + " has no address now, so nothing of it "
                                                           "is reachable");
        }
    }
    if (into.request.role == PodRole::sandbox)
        return; // its pause process writes nothing
    if (auto advice = tmp_advice(config, rootfs, user))
        into.inspection.advice.push_back(std::move(*advice));
}

// Fills in what only a run that is not left alone needs.
Status inspect_and_plan(const Session& session, const json::Document& config, const ContainerId& id,
                        const std::string& generation, Prepared& into)
{
    AH_TRY(const inspect::CommandUser user, inspect::command_user(config.root()),
           "read process.user");
    std::vector<inspect::SocketServer> servers;
    if (!into.joins_pod()) { // else the pod's relay dials them
        AH_TRY(servers, find_servers(session, into.request, user));
    }
    for (const inspect::SocketServer& server : servers)
        into.places.push_back(server.place);
    const RunKey key = RunKey::of(session.root, id);
    const std::string run = session.state_path + "/runs/" + key.text();
    AH_TRY(into.network, network_of(session, into));
    AH_CHECK(inspect(session, config.root(), servers, user, into));
    const std::string rootfs = rootfs_of(config.root(), into.bundle);
    advise(config.root(), rootfs, user, into);

    RunPaths paths{.hook = into.helpers.hook,
                   .relay = into.helpers.relay,
                   .relay_mount_options = {},
                   .state_dir = session.state_path,
                   .inside = run + "/inside",
                   .place = {},
                   .key = key.text(),
                   .generation = generation,
                   .host_netns = {},
                   .host_cookie = state::netns_cookie()};
    AH_TRY(paths.host_netns, state::namespace_of(0, "net"),
           "identify the host's network namespace");
    if (!into.request.endpoints.empty() && !into.joins_pod()) {
        AH_TRY(paths.relay_mount_options, relay_mount_options(paths.relay), "mount the relay");
        AH_TRY(paths.place, edit::mount_place(config.root(), rootfs), "mount the relay");
        AH_TRY(const FirstProcess first, first_process(config.root()), "config.json");
        AH_TRY(into.request.switches.relay, relay_for(into.request.switches, first));
    }
    into.plan = make_plan(into.request, into.decision, into.places, paths);
    AH_CHECK(refuse_findings(into)); // its words come before those of an edit that cannot be
    AH_TRY(into.edited, edit::edit_config(config, into.plan), "edit config.json");
    if (into.edited.seccomp_obstacle.empty())
        return {};
    into.inspection.voids.push_back({"linux.seccomp", into.edited.seccomp_obstacle});
    return refuse_findings(into);
}

} // namespace

std::string bundle_of(const words::Invocation& invocation)
{
    const words::OptionAt* option = invocation.last("bundle");
    return option != nullptr && !option->value.empty() ? option->value : ".";
}

Result<Prepared> prepare(const Session& session, const std::string& bundle_path,
                         const ContainerId& id, const std::string& generation)
{
    if (!session.policy)
        return std::unexpected(session.policy.error());
    AH_TRY(config::Bundle bundle, config::Bundle::open(bundle_path), "open the bundle");
    AH_TRY(std::string original, bundle.read_config(), "read config.json");
    AH_TRY(const json::Document config, json::Document::parse(original), "config.json");
    AH_CHECK(config::check_oci_keys(config.root()), "config.json");
    AH_TRY(const Annotations annotations, annotations_of(config.root()), "config.json");
    PodPlace place;
    AH_TRY(Request request, request_of(session, config.root(), annotations, id, place));

    Prepared prepared{.bundle = std::move(bundle),
                      .turn = {},
                      .original = std::move(original),
                      .request = std::move(request),
                      .decision = {},
                      .pod = std::move(place),
                      .mark = {},
                      .helpers = {},
                      .places = {},
                      .network = {},
                      .hostname = {},
                      .inspection = {},
                      .plan = {},
                      .edited = {}};
    for (const auto& [name, value] : annotations) {
        if (name == mark_annotation)
            prepared.mark = value;
    }
    // Without probes first: what is left alone needs none of what follows.
    if (const auto open = decide(prepared.request, all_caps);
        open && open->posture == Posture::open && !prepared.pod.holder) {
        const bool looked = prepared.pod.names_netns && prepared.pod.role != PodRole::sandbox;
        if (!looked)
            AH_CHECK(stay_out_of_cells(session, config.root()));
        if (open->untouched) {
            prepared.decision = *open;
            return prepared;
        }
    }
    AH_CHECK(prepared.bundle.check_config(), "read config.json");
    AH_TRY(prepared.helpers, runtime::find_helpers());
    AH_CHECK(decide_here(session, config.root(), prepared));
    if (const auto name = config.root().find("hostname"))
        prepared.hostname = name->string().value_or("");
    if (!prepared.mark)
        AH_CHECK(inspect_and_plan(session, config, id, generation, prepared));
    return prepared;
}

} // namespace anchorhold::prepare
