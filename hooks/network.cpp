// SPDX-License-Identifier: Apache-2.0
// Connects a run. At no moment does the container reach more than it was granted.
//
// 1. plug_in() makes the pair of links, with both ends down, and loads the host's rules. In place,
//    the engine has made the links, and plug_in() looks at them.
// 2. `up` loads the table inside and removes other links.
// 3. open_link() gives both ends their addresses and brings them up. So rules come before links, on
//    both sides. Then it asks the kernel for its route to the container.
// 4. check_link() sees whether anybody changed the links.
// 5. On any failure `up` calls unplug(), which needs nothing but the key.
//
// The container's end is made in its namespace, and is never moved there: a moved link is for a
// moment in the host's namespace. The end has the name that engines usually give, so that programs
// find what they expect.
#include "hooks/network.hpp"

#include "hooks/denied_connections.hpp"
#include "hooks/host_addresses.hpp"
#include "hooks/net/node_macs.hpp"
#include "hooks/net/pool_routes.hpp"
#include "hooks/net/routes.hpp"
#include "hooks/net/veth.hpp"
#include "hooks/nft/host_rules.hpp"
#include "hooks/nft/inside_table.hpp"
#include "hooks/state/forwarding.hpp"
#include "hooks/state/probe.hpp"
#include "hooks/state/process.hpp"
#include "hooks/state/subnets.hpp"
#include "hooks/unplug.hpp"
#include "schema/file_identity.hpp"
#include "schema/rules/always_denied.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/mount.h>
#include <unistd.h>

namespace anchorhold {
namespace {

std::unexpected<Error> changed(const std::string& link, const std::string& what)
{
    return fail(Code::network_setup_failed,
                "link " + link + " is not what it was made: " + what +
                    "; have the host's network manager leave links ah* alone "
                    "(contrib/unmanaged)");
}

// Returns the link's addresses without `but`, as text. Returns "not ADDRESS" when `but` is missing.
Result<std::string> addresses_on(net::Netlink& route, unsigned link, const std::string& but)
{
    AH_TRY(const auto messages, route.list(net::list_addresses_of(link)));
    std::string others;
    bool own = false;
    for (const net::Message& message : messages) {
        if (!net::is_on(message, link))
            continue;
        AH_TRY(const auto read, net::read_address(message), "read the addresses");
        const std::string text = read ? read->text() : "one of another family";
        own = own || text == but;
        if (text != but)
            others += (others.empty() ? "" : ", ") + text;
    }
    return own ? others : "not " + but;
}

// Checks one end of the pair. `where` is its name in messages.
Status check_end(net::Netlink& route, const net::Link& made, std::uint32_t address,
                 const std::string& where, std::vector<std::string>* notes)
{
    AH_TRY(const auto seen, net::find_link(route, made.name));
    if (!seen || seen->index != made.index)
        return changed(where, "it is gone");
    if (seen->mac != made.mac)
        return changed(where, "its MAC is " + seen->mac);
    if (!seen->up)
        return changed(where, "it is down");
    const std::string own = rules::dotted(address) + "/32";
    AH_TRY(const std::string others, addresses_on(route, made.index, own));
    if (others.empty())
        return {};
    if (notes == nullptr || others.starts_with("not "))
        return changed(where, "it has " + others);
    notes->push_back("link " + where + " has " + others + " beside its own address");
    return {};
}

Status check_forwarding(const rules::Network& network, Record& record)
{
    const auto policy = network.enable_forwarding ? Forwarding::enable : Forwarding::require;
    if (const auto obstacle = state::obstacle_to_forwarding(state::ip_forward, policy))
        return fail(Code::posture_unavailable, *obstacle);
    if (!state::is_router()) {
        record.advice.emplace_back("net.ipv4.ip_forward is 0: the host forwards packets of such "
                                   "runs alone, while they live, as the policy says");
    }
    return {};
}

Status plug_veth(const state::StateDir& state, const Record& record, rules::Network& network,
                 const net::Netns& netns, net::Conversations& inside, net::Netlink& route)
{
    AH_TRY(const RunKey key, RunKey::parse(record.key));
    const std::string name = rules::link_name(record.key);
    AH_TRY(const auto leftover, net::find_link(route, name));
    if (leftover && is_made_elsewhere(*leftover, record.host_pidns)) {
        return fail(Code::network_setup_failed,
                    "link " + name + " belongs to a run of another pid namespace");
    }
    AH_CHECK(remove_leftover(route, name));
    AH_TRY(net::RoutedHost host, net::RoutedHost::open(route));
    const auto routed = [&host](const rules::Subnet& subnet) { return host.touching(subnet); };
    AH_TRY(network.subnet,
           state::reserve_subnet(state, key, record.generation, network.pool, routed));
    AH_CHECK(
        route.send(net::make_veth(name, rules::inside_link, netns.fd.get(), link_alias(record))));
    AH_TRY(const auto outer, net::find_link(route, name));
    AH_TRY(const auto inner, net::find_link(inside.route, rules::inside_link));
    if (!outer || !inner)
        return fail(Code::network_setup_failed, "link " + name + " is not where it was made");
    network.link = outer->index;
    network.links = {inner->index};
    const net::Step plain = net::without_ipv6(inner->index);
    return inside.route.send({&plain, 1});
}

Status plug_in_place(rules::Network& network, net::Conversations& inside, net::Netlink& route)
{
    AH_TRY(const auto links, net::links_in(inside.route));
    for (const net::Link& link : links) {
        if (!link.is_loopback())
            network.links.push_back(link.index);
    }
    AH_TRY(const auto of_host, net::links_in(route));
    network.node_macs = net::macs_of_node(links, of_host);
    AH_TRY(const auto addresses, addresses_in(inside.route, network.pool));
    const auto denied = rules::always_denied(network.pool);
    for (const rules::Prefix& address : addresses) {
        if (!rules::is_covered(address, denied)) // loopback and link-local do not lead outside
            network.guest.push_back(address);
    }
    return {};
}

} // namespace

Status keep_netns(const state::StateDir& state, const Record& record, const net::Netns& netns)
{
    const std::string place = kept_netns(state, record.key);
    const std::string self = "/proc/self/fd/" + std::to_string(netns.fd.get());
    const UniqueFd file(::open(place.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0400));
    if (!file || ::mount(self.c_str(), place.c_str(), nullptr, MS_BIND, nullptr) != 0)
        return fail_errno("keep the container's network namespace at " + place, errno);
    return {};
}

std::vector<std::uint16_t> gate_ports(const Record& record)
{
    std::vector<std::uint16_t> ports;
    for (const Endpoint& endpoint : record.endpoints) {
        if (std::holds_alternative<TcpTarget>(endpoint.to))
            ports.push_back(endpoint.listen.number());
    }
    return ports;
}

nft::InsidePlan inside_plan(const Record& record)
{
    nft::InsidePlan plan;
    plan.posture = record.posture;
    if (record.network)
        plan.network = *record.network;
    if (!plan.network.links.empty())
        plan.link = plan.network.links.front();
    if (record.gate) {
        plan.handles = record.gate->rules.handles;
        plan.listens = gate_ports(record);
    }
    // The node sends from the gateway to a run on a link of ours.
    const auto subnet = plan.network.subnet;
    if (const auto gateway = rules::Prefix::parse(subnet ? subnet->gateway_text() : "", Code()))
        plan.network.node.push_back(*gateway);
    return plan;
}

Status plug_in(const state::StateDir& state, Record& record, const net::Netns& netns,
               net::Conversations& inside, const state::Deadline& deadline)
{
    if (!record.network)
        return fail(Code::network_setup_failed, "the record names no network");
    rules::Network& network = *record.network;
    AH_TRY(auto route, net::Netlink::open(NETLINK_ROUTE, deadline));
    if (record.posture == Posture::filtered && record.technique == Technique::veth)
        AH_CHECK(check_forwarding(network, record));
    if (record.posture == Posture::filtered) { // no other posture's table names them
        AH_TRY(HostAddresses host, host_addresses(route, record, nullptr));
        network.node = std::move(host.own);
        network.delivered = std::move(host.delivered);
    }
    if (record.technique == Technique::veth) {
        AH_CHECK(plug_veth(state, record, network, netns, inside, route));
    } else {
        AH_CHECK(net::check_alone(netns)); // another process would be filtered without asking
        AH_CHECK(plug_in_place(network, inside, route));
        AH_CHECK(state.write(record)); // the record names the guests before the host's rules do
    }
    if (record.posture == Posture::filtered)
        AH_CHECK(keep_netns(state, record, netns));
    return nft::put_host_rules(state, record, deadline);
}

Result<bool> look_again(Record& record, net::Conversations& inside, const state::Deadline& deadline,
                        KeptHost* kept)
{
    if (record.posture != Posture::filtered || !record.network || record.gate)
        return false; // a gate asks the kernel at each dial
    // Addresses that are always denied are not compared: the host gets a link-local one with every
    // container that starts. Such an address matters only on the container's own links, and those
    // are compared.
    const auto never = rules::always_denied(record.network->pool);
    const auto sorted = [&never](rules::Network network) {
        std::erase_if(network.node, [&never](const rules::Prefix& address) {
            return rules::is_covered(address, never);
        });
        std::ranges::sort(network.links);
        std::ranges::sort(network.node, {}, &rules::Prefix::text);
        std::ranges::sort(network.delivered, {}, &rules::Prefix::text);
        std::ranges::sort(network.guest, {}, &rules::Prefix::text);
        return network;
    };
    rules::Network now = *record.network;
    AH_TRY(auto route, net::Netlink::open(NETLINK_ROUTE, deadline));
    AH_TRY(HostAddresses host, host_addresses(route, record, kept));
    now.node = std::move(host.own);
    now.delivered = std::move(host.delivered);
    if (record.technique == Technique::in_place) {
        now.links.clear();
        now.guest.clear();
        AH_CHECK(plug_in_place(now, inside, route));
    }
    if (sorted(now) == sorted(*record.network))
        return false;
    record.network = std::move(now);
    return true;
}

Status open_link(Record& record, net::Conversations& inside, const state::Deadline& deadline)
{
    if (record.technique != Technique::veth)
        return {};
    const rules::Network network = record.network.value_or(rules::Network());
    const rules::Subnet subnet = network.subnet.value_or(rules::Subnet());
    AH_TRY(auto route, net::Netlink::open(NETLINK_ROUTE, deadline));
    const net::Link outer{
        .index = network.link, .name = rules::link_name(record.key), .kind = "veth", .mac = {}};
    const net::Link inner{
        .index = network.links.front(), .name = rules::inside_link, .kind = "veth", .mac = {}};
    const std::array within = {
        net::add_address(inner.index, subnet.inside()), net::set_link(inner, net::Flag::up),
        net::add_neighbour(inner.index, subnet.gateway(), outer.name, net::End::host)};
    AH_CHECK(inside.route.send(within));
    const std::array without = {
        net::add_address(outer.index, subnet.gateway()), net::set_link(outer, net::Flag::up),
        net::add_neighbour(outer.index, subnet.inside(), outer.name, net::End::inside)};
    AH_CHECK(route.send(without));
    if (record.posture == Posture::filtered) {
        const net::Step step = net::add_default_route(inner.index, subnet.gateway());
        AH_CHECK(inside.route.send({&step, 1}));
    }
    auto answers = route.list(net::ask_route(subnet.gateway(), subnet.inside()));
    const auto answer = answers && !answers->empty()
                            ? net::read_answer(answers->front())
                            : Result<net::RouteAnswer>(std::unexpected(
                                  answers ? Error{Code::network_setup_failed, 0, "no answer"}
                                          : std::move(answers).error()));
    return net::judge_route(answer, subnet, outer.index);
}

Status check_link(const Record& record, net::Conversations& inside, const state::Deadline& deadline,
                  std::vector<std::string>* notes)
{
    if (record.technique != Technique::veth || !record.network || !record.network->subnet)
        return {};
    const rules::Network& network = *record.network;
    AH_TRY(auto route, net::Netlink::open(NETLINK_ROUTE, deadline));
    const std::string name = rules::link_name(record.key);
    const net::Link outer{
        .index = network.link, .name = name, .kind = {}, .mac = net::mac_of(name, net::End::host)};
    AH_CHECK(check_end(route, outer, network.subnet->gateway(), outer.name, notes));
    const net::Link inner{.index = network.links.front(),
                          .name = rules::inside_link,
                          .kind = {},
                          .mac = net::mac_of(outer.name, net::End::inside)};
    return check_end(inside.route, inner, network.subnet->inside(),
                     std::string(rules::inside_link) + " of the container", nullptr);
}

} // namespace anchorhold
