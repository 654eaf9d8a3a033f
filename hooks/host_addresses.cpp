// SPDX-License-Identifier: Apache-2.0
#include "hooks/host_addresses.hpp"

#include "hooks/net/delivered.hpp"
#include "hooks/net/routes.hpp"
#include "hooks/state/subnets.hpp"
#include "schema/rules/always_denied.hpp"

#include <algorithm>
#include <cerrno>
#include <linux/rtnetlink.h>

namespace anchorhold {
namespace {

constexpr std::size_t most_asked = 32; // addresses of an allow list; each question takes 15 us

// Leaves out of `delivered` what is always denied, the gateways of runs among it, and what `own`
// has.
Result<HostAddresses> list_host(net::Netlink& route, const rules::Prefix& pool)
{
    HostAddresses host;
    AH_TRY(host.own, addresses_in(route, pool));
    const auto never = rules::always_denied(pool);
    for (const net::Step& request : net::list_delivered()) {
        AH_TRY(const auto messages, route.list(request));
        for (const net::Message& message : messages) {
            AH_TRY(const auto range, net::read_delivered(message));
            if (range && !rules::is_covered(*range, never) &&
                std::ranges::find(host.own, *range) == host.own.end() &&
                std::ranges::find(host.delivered, *range) == host.delivered.end())
                host.delivered.push_back(*range);
        }
    }
    return host;
}

Result<HostAddresses> whole_host(net::Netlink& route, const rules::Prefix& pool, KeptHost* kept)
{
    if (kept != nullptr && *kept && (*kept)->pool == pool)
        return (*kept)->host;
    AH_TRY(HostAddresses host, list_host(route, pool));
    if (kept != nullptr)
        *kept = ListedHost{pool, host};
    return host;
}

} // namespace

Result<std::vector<rules::Prefix>> addresses_in(net::Netlink& route, const rules::Prefix& pool)
{
    AH_TRY(const auto messages, route.list(net::list_addresses()));
    std::vector<rules::Prefix> addresses;
    for (const net::Message& message : messages) {
        if (net::is_gateway(message, pool))
            continue;
        AH_TRY(const auto address, net::read_address(message), "read the addresses");
        if (address)
            addresses.push_back(*address);
    }
    return addresses;
}

Result<HostAddresses> host_addresses(net::Netlink& route, const Record& record, KeptHost* kept)
{
    const rules::Network network = record.network.value_or(rules::Network());
    const bool few = network.allow.size() <= most_asked;
    const auto is_asked = [](const rules::Reach& reach) { return reach.to.is_single(); };
    if (record.technique != Technique::veth || !few ||
        !std::ranges::all_of(network.allow, is_asked))
        return whole_host(route, network.pool, kept);
    HostAddresses host;
    for (const rules::Reach& reach : network.allow) {
        if (!reach.to.is_v4())
            continue; // a link of ours has no way there
        const auto answers = route.list(net::match_route(state::RoutedRange::of(reach.to).base));
        if (!answers && answers.error().number == EINVAL)
            return whole_host(route, network.pool,
                              kept); // a blackhole, or a question not understood
        if (!answers && net::is_no_route(answers.error().number))
            continue; // the host has no way there
        AH_CHECK(answers);
        if (answers->empty())
            continue;
        AH_TRY(const net::RouteAnswer answer, net::read_answer(answers->front()));
        if (answer.type == RTN_LOCAL)
            host.own.push_back(reach.to);
        if (answer.type == RTN_BROADCAST || answer.type == RTN_ANYCAST)
            host.delivered.push_back(reach.to);
    }
    return host;
}

} // namespace anchorhold
