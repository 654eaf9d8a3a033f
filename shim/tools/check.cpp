// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/reachability.hpp"
#include "shim/prepare/pinned_names.hpp"
#include "shim/prepare/prepare.hpp"
#include "shim/tools/tool_list.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <array>
#include <cerrno>
#include <memory>

namespace anchorhold::tools {

namespace {

struct Wish {
    Request request;
    Decision decision;
};

Result<Wish> of_bundle(const Session& session, const std::string& bundle)
{
    AH_TRY(const ContainerId id, ContainerId::parse("checked"));
    // All stages: nothing is reachable from a container that would be refused.
    AH_TRY(prepare::PreparedRun run,
           prepare::prepare_bundle(session, bundle, id, "0000000000000000"));
    return Wish{std::move(run.chosen.request), std::move(run.chosen.decision)};
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
    const HostCaps able{
        .can_isolate = true, .can_relay = true, .can_seal = true, .can_filter = true};
    AH_TRY(Decision decision, decide(request, able));
    return Wish{std::move(request), std::move(decision)};
}

// Adds the address, if it is one of IPv4 or IPv6.
void add_address(std::vector<rules::Prefix>& addresses, const sockaddr* at)
{
    if (at == nullptr || (at->sa_family != AF_INET && at->sa_family != AF_INET6))
        return;
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* const bytes =
        at->sa_family == AF_INET
            ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(at)->sin_addr)
            : &reinterpret_cast<const sockaddr_in6*>(at)->sin6_addr;
    ::inet_ntop(at->sa_family, bytes, text.data(), text.size());
    if (const auto address = rules::Prefix::parse(text.data(), Code::network_setup_failed))
        addresses.push_back(*address);
}

// Returns the addresses of this host's links as of now, the broadcast ones included. The kernel's
// tables ask for them at each packet.
Result<std::vector<rules::Prefix>> own_addresses()
{
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0)
        return fail_errno("list the addresses of this host", errno);
    const std::unique_ptr<ifaddrs, decltype([](ifaddrs* list) { ::freeifaddrs(list); })> list(
        first);
    std::vector<rules::Prefix> addresses;
    for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
        add_address(addresses, one->ifa_addr);
        if ((one->ifa_flags & IFF_BROADCAST) != 0)
            add_address(addresses, one->ifa_broadaddr);
    }
    return addresses;
}

Result<rules::Network> network_of(const Session& session, const Wish& wish)
{
    rules::Network network;
    network.pool = session.policy->pool;
    if (wish.decision.posture != Posture::filtered)
        return network;
    AH_TRY(const runtime::Helpers helpers, runtime::find_helpers());
    AH_TRY(network.names, prepare::pin_names(helpers, wish.request.allow), "look up the names");
    AH_TRY(network.node, own_addresses());
    rules::compile(wish.request.allow, session.policy->deny, network);
    return network;
}

} // namespace

Result<int> tool_check(const Session& session, const ToolCall& call, ToolOutput& output)
{
    AH_TRY(const rules::AllowRule question, rules::parse_question(call.operands[0]));
    if (session.creation_obstacle)
        return std::unexpected(*session.creation_obstacle);
    AH_TRY(const Wish wish,
           call.bundle.empty() ? of_policy(session) : of_bundle(session, call.bundle));
    AH_TRY(const rules::Network network, network_of(session, wish));
    const rules::Reachability found =
        rules::reachability(wish.request, wish.decision, network, question);
    output.text = sentence_for(wish.request, wish.decision) + "\n";
    for (const std::string& line : found.lines)
        output.text += printable(line, 1000) + "\n";
    return found.reachable ? 0 : 1;
}

} // namespace anchorhold::tools
