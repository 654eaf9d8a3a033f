// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/gate_request.hpp"
#include "schema/rules/reachability.hpp"
#include "shim/prepare/own_addresses.hpp"
#include "shim/prepare/pinned_names.hpp"
#include "shim/prepare/prepare.hpp"
#include "shim/prepare/wildcards.hpp"
#include "shim/tools/tool_list.hpp"

#include <optional>

namespace anchorhold::tools {

namespace {

struct Wish {
    Request request;
    Decision decision;
    std::optional<rules::Network> network; // of a bundle's run
    std::optional<rules::GateRules> gate;  // of a run that the gate serves
};

Result<Wish> of_bundle(const Session& session, const std::string& bundle)
{
    AH_TRY(const ContainerId id, ContainerId::parse("checked"));
    // All stages: nothing is reachable from a container that would be refused.
    AH_TRY(prepare::PreparedRun run,
           prepare::prepare_bundle(session, bundle, id, "0000000000000000"));
    return Wish{std::move(run.chosen.request), std::move(run.chosen.decision),
                std::move(run.seen.network), std::move(run.seen.gate)};
}

// Returns the wish of a run that asks for nothing, on a host that can do all that this version
// knows.
Result<Wish> of_policy(const Session& session)
{
    AH_TRY(const ContainerId id, ContainerId::parse("checked"));
    AH_TRY(const ProfileChoice choice,
           choose_profile(*session.policy, {}, session.own.profile, session.argv0_profile),
           "choose a profile");
    AH_TRY(Request request, resolve(*session.policy, {}, choice, {id, {}}));
    AH_CHECK(prepare::check_wildcards(request.allow));
    const HostCaps able{.can_isolate = true,
                        .can_relay = true,
                        .can_seal = true,
                        .can_filter = true,
                        .can_gate = true};
    AH_TRY(Decision decision, decide(request, able));
    drop_unserved(decision, request);
    Wish wish{std::move(request), std::move(decision), {}, {}};
    if (wish.decision.technique == Technique::gate) {
        AH_TRY(wish.gate, rules::gate_rules(wish.request, wish.decision, *session.policy));
    }
    return wish;
}

Result<rules::Network> network_of(const Session& session, const Wish& wish)
{
    if (wish.gate)
        return rules::gate_network(*wish.gate);
    rules::Network network = wish.network.value_or(rules::Network());
    if (wish.decision.posture == Posture::filtered && !wish.network) {
        network.pool = session.policy->pool;
        AH_TRY(const runtime::Helpers helpers, runtime::find_helpers());
        AH_TRY(network.names, prepare::pin_names(helpers, wish.request.allow), "look up the names");
        rules::compile(wish.request.allow, session.policy->deny, network);
    }
    return network;
}

// Returns how many rules of the list lead somewhere, as far as that is known before they are
// dialled.
std::size_t count_destinations(const Wish& wish, const rules::Network& network)
{
    std::vector<rules::AllowRule> fixed = wish.request.allow;
    if (wish.gate) {
        std::erase_if(fixed, [](const rules::AllowRule& rule) {
            return std::holds_alternative<rules::NamePattern>(rule.to);
        });
    }
    return wish.request.allow.size() - rules::rules_without_reach(network, fixed).size();
}

} // namespace

Result<int> tool_check(const Session& session, const ToolCall& call, ToolOutput& output)
{
    AH_TRY(const rules::AllowRule question, rules::parse_question(call.operands[0]));
    if (session.creation_obstacle)
        return std::unexpected(*session.creation_obstacle);
    AH_TRY(const Wish wish,
           call.bundle.empty() ? of_policy(session) : of_bundle(session, call.bundle));
    AH_TRY(rules::Network network, network_of(session, wish));
    if (wish.decision.posture == Posture::filtered) {
        AH_TRY(const auto own, prepare::own_addresses());
        network.node.insert(network.node.end(), own.begin(), own.end());
    }
    const rules::Reachability found =
        wish.gate ? rules::gate_reachability(wish.request, wish.decision, *wish.gate, network.node,
                                             question)
                  : rules::reachability(wish.request, wish.decision, network, question);
    output.text =
        sentence_for(wish.request, wish.decision, count_destinations(wish, network)) + "\n";
    for (const std::string& line : found.lines)
        output.text += printable(line, 1000) + "\n";
    return found.reachable ? 0 : 1;
}

} // namespace anchorhold::tools
