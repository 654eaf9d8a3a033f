// SPDX-License-Identifier: Apache-2.0
#include "shim/prepare/chosen.hpp"

#include "hooks/state/probe.hpp"
#include "schema/pod.hpp"
#include "shim/config/oci_keys.hpp"
#include "shim/inspect/namespaces.hpp"
#include "shim/prepare/wildcards.hpp"
#include "shim/runtime/ask_hook.hpp"

#include <algorithm>

namespace anchorhold::prepare {
namespace {

Result<HostCaps> host_caps(const Session& session, const runtime::Helpers& helpers,
                           const Request& request, GivenNetns given)
{
    AH_TRY(const state::StateDir state, state::StateDir::open(session.state_path),
           "open the state directory");
    const auto ask = [&helpers] { return runtime::ask_network(helpers.hook); };
    AH_TRY(const auto answers,
           state::probe_host(state, {helpers.relay, helpers.hook, helpers.gate}, ask,
                             state::Freshness::cached),
           "probe this host");
    HostCaps caps = state::caps_of(answers);
    // The packets of a network that an engine made are forwarded by the engine's own rules.
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

// Shortens a list that is longer than the pod's to the pod's.
void keep_the_pods_rules(const Record& holder, std::vector<rules::AllowRule>& rules)
{
    std::erase_if(rules, [&holder](const rules::AllowRule& rule) {
        return std::ranges::find(holder.allow, text_of(rule)) == holder.allow.end();
    });
}

// Returns the decision for a container that joins its pod's network; nothing where it has none to
// join, or asks for less than the pod and is then decided as if it were alone.
Result<std::optional<Decision>> decide_in_pod(const Session& session, ChosenRun& into)
{
    const std::optional<Record>& holder = into.pod.holder;
    if (into.pod.role == PodRole::container && into.pod.names_netns && !holder) {
        return fail(
            Code::posture_unavailable,
            "the sandbox of its pod has no record of ours; create the pod with this handler, and "
            "with an egress that is not open");
    }
    if (!holder)
        return std::optional<Decision>();
    AH_TRY(auto joined, join_pod(into.request, *holder, session.policy->deny));
    if (joined)
        keep_the_pods_rules(*holder, into.request.allow);
    return joined;
}

Result<Decision> decide_alone(const Session& session, json::View config, const ChosenRun& chosen)
{
    AH_TRY(const GivenNetns given, inspect::given_netns(config));
    AH_TRY(const HostCaps caps, host_caps(session, chosen.helpers, chosen.request, given));
    return decide(chosen.request, caps, given);
}

// Refuses an open container that would stand in the network of a confined one.
Status check_openness(const Session& session, json::View config, const ChosenRun& chosen)
{
    const bool looked = chosen.pod.names_netns && chosen.pod.role != PodRole::sandbox;
    if (looked || chosen.request.egress != Egress::open || chosen.pod.holder)
        return {};
    return stay_out_of_cells(session, config);
}

} // namespace

Result<ChosenRun> choose(const Session& session, const AskedRun& asked, const ContainerId& id)
{
    if (session.creation_obstacle)
        return std::unexpected(*session.creation_obstacle);
    if (asked.mark) {
        return fail(Code::invalid_request,
                    "annotation dev.anchorhold.run is written by anchorhold alone; remove it");
    }
    const json::View config = asked.config.root();
    ChosenRun chosen;
    AH_TRY(const ProfileChoice profile,
           choose_profile(*session.policy, asked.asked, session.own.profile, session.argv0_profile),
           "choose a profile");
    if (makes_pods(*session.policy, profile)) {
        AH_TRY(chosen.pod, find_pod(session, config));
    }
    // Every container of a pod means the same socket by {id}.
    AH_TRY(const ContainerId named,
           ContainerId::parse(chosen.pod.holder ? chosen.pod.holder->id : id.text()));
    AH_TRY(chosen.request, resolve(*session.policy, asked.asked, profile, {named, config}));
    chosen.request.role = chosen.pod.role;
    AH_CHECK(check_wildcards(chosen.request.allow));
    AH_CHECK(check_openness(session, config, chosen));
    // A run that is left alone needs no probe, no helper and no care of its config.json.
    if (auto untouched = leave_alone(chosen.request); untouched && !chosen.pod.holder) {
        chosen.decision = *std::move(untouched);
        return chosen;
    }
    AH_CHECK(config::check_oci_keys(config, config::OciKeys::all), "config.json");
    AH_CHECK(asked.bundle.check_config(), "read config.json");
    AH_TRY(chosen.helpers, runtime::find_helpers());
    AH_TRY(auto joined, decide_in_pod(session, chosen));
    if (joined) {
        chosen.decision = *std::move(joined);
    } else {
        AH_TRY(chosen.decision, decide_alone(session, config, chosen));
        chosen.missing = drop_unserved(chosen.decision, chosen.request);
    }
    return chosen;
}

} // namespace anchorhold::prepare
