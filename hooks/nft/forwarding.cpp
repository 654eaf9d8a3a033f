// SPDX-License-Identifier: Apache-2.0
#include "hooks/nft/forwarding.hpp"

#include "hooks/net/uplinks.hpp"
#include "hooks/nft/host_shared.hpp"

#include <array>
#include <linux/netlink.h>
#include <net/if.h>

namespace anchorhold::nft {
namespace {

Result<state::LinkNames> names_of(const std::vector<unsigned>& links)
{
    state::LinkNames names;
    for (const unsigned link : links) {
        std::array<char, IF_NAMESIZE> name{};
        if (::if_indextoname(link, name.data()) != nullptr && !key_of_link(name.data()))
            names.emplace_back(name.data()); // one that is gone needs no switch
    }
    return names;
}

} // namespace

Status hold_forwarding(const state::StateDir& state, const Record& record, net::Netlink& nftables,
                       const state::Deadline& deadline)
{
    const rules::Network network = record.network.value_or(rules::Network());
    if (!network.enable_forwarding || record.posture != Posture::filtered ||
        record.technique != Technique::veth)
        return {};
    if (state::is_router()) {
        AH_TRY(const auto switched, ask_switched(nftables));
        if (!switched.empty())
            AH_CHECK(nftables.send(set_switched(switched, {})));
        return state::forget_links(state);
    }
    AH_TRY(auto route, net::Netlink::open(NETLINK_ROUTE, deadline));
    AH_TRY(const auto links, net::uplinks(route, network.allow));
    AH_TRY(const auto names, names_of(links));
    AH_TRY(auto claimed, state::claim_links(state, names));
    AH_CHECK(nftables.send(set_switched({}, claimed)), "name the links that are switched on");
    claimed.push_back(rules::link_name(record.key));
    return state::switch_links(claimed, state::Switch::on);
}

Result<state::LinkNames> end_forwarding(const state::StateDir& state, net::Netlink& nftables)
{
    if (state::is_router())
        return state::LinkNames();
    AH_TRY(auto links, state::claimed_links(state));
    AH_TRY(const auto named, ask_switched(nftables));
    links.insert(links.end(), named.begin(), named.end());
    AH_CHECK(state::switch_links(links, state::Switch::off));
    return links;
}

} // namespace anchorhold::nft
