// SPDX-License-Identifier: Apache-2.0
// Rules before a link is up, on both sides: there is no moment in which the container reaches more
// than it was granted. On any failure `up` calls unplug, which needs nothing but the key.
//
// The container's end is created in its namespace, never moved there: a moved link keeps a moment
// in the host's. It has the engine's usual name, so that programs find what they expect.
//
// The set of what was refused to a filtered run is in its namespace, which ends with its last
// process, before anybody is told. So the namespace is kept by a mount in the run's folder until
// teardown has read it.
#include "hooks/network.hpp"

#include "hooks/files.hpp"
#include "hooks/host_table.hpp"
#include "hooks/inside_table.hpp"
#include "hooks/process.hpp"
#include "hooks/routed.hpp"
#include "hooks/routes.hpp"
#include "hooks/subnets.hpp"
#include "hooks/veth.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sys/mount.h>
#include <unistd.h>

namespace anchorhold {
namespace {

constexpr const char* forwarding = "/proc/sys/net/ipv4/ip_forward";
constexpr std::chrono::seconds patience(5); // of a teardown, which has no runtime waiting

// By name, without a list of all there are.
Result<std::optional<Link>> find_link(Netlink& route, const std::string& name)
{
    const auto answers = route.list(find_link_named(name));
    if (!answers && answers.error().number == ENODEV)
        return std::nullopt;
    AH_CHECK(answers, "find link " + name);
    if (answers->empty())
        return std::nullopt;
    AH_TRY(Link link, read_link(answers->front()), "find link " + name);
    return link;
}

Status remove_leftover(Netlink& route, const std::string& name)
{
    const Step step = remove_link_named(name);
    const auto removed = route.send({&step, 1});
    if (!removed && removed.error().number == ENODEV)
        return {};
    return removed;
}

// Without the gateways of runs: the pool is denied as a whole, and a container is not probed from
// another's gateway.
Result<std::vector<Prefix>> addresses_in(Netlink& route, const Prefix& pool)
{
    AH_TRY(const auto messages, route.list(list_addresses()), "");
    std::vector<Prefix> addresses;
    for (const Message& message : messages) {
        if (is_gateway(message, pool))
            continue;
        AH_TRY(const auto address, read_address(message), "read the addresses");
        if (address)
            addresses.push_back(*address);
    }
    return addresses;
}

Status check_forwarding(const Network& network, Record& record)
{
    AH_TRY(const auto text, read_file(forwarding, 64), "read " + std::string(forwarding));
    if (text && text->starts_with('1'))
        return {};
    if (!network.enable_forwarding) {
        return fail(Code::posture_unavailable,
                    "ip_forward is 0; set net.ipv4.ip_forward=1, or \"forwarding\": \"enable\" in "
                    "the policy");
    }
    const UniqueFd file(::open(forwarding, O_WRONLY | O_CLOEXEC));
    if (!file || ::write(file.get(), "1", 1) != 1) {
        return fail_errno("switch " + std::string(forwarding) + " on", errno,
                          Code::posture_unavailable);
    }
    record.advice.emplace_back("net.ipv4.ip_forward was 0 and is 1 now, as the policy says");
    return {};
}

std::string kept_netns(const StateDir& state, const Record& record)
{
    return state.path() + "/runs/" + record.key + "/netns";
}

Status keep_netns(const StateDir& state, const Record& record, const Netns& netns)
{
    const std::string place = kept_netns(state, record);
    const std::string self = "/proc/self/fd/" + std::to_string(netns.fd.get());
    const UniqueFd file(::open(place.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0400));
    if (!file || ::mount(self.c_str(), place.c_str(), nullptr, MS_BIND, nullptr) != 0)
        return fail_errno("keep the container's network namespace at " + place, errno);
    return {};
}

HostRun host_run(const Record& record)
{
    return {record.key, record.posture, record.technique, record.network.value_or(Network())};
}

Result<bool> stands(Netlink& nftables, const HostRun& run)
{
    AH_TRY(const auto planned, host_rules_lines(run), "");
    AH_TRY(const auto seen, ask_host_rules(nftables, run), "");
    return seen == planned;
}

Status load_and_compare(Netlink& nftables, const HostRun& run)
{
    AH_TRY(const bool shared, shared_stands(nftables, run), "read the host's rules");
    auto loaded = nftables.send(add_host_rules(run, shared ? Shared::stands : Shared::missing));
    if (!loaded && loaded.error().number == EEXIST) // of a killed predecessor
        loaded = nftables.send(load_host_rules(run));
    AH_CHECK(loaded, "load the host's rules");
    AH_TRY(const bool good, stands(nftables, run), "read the host's rules back");
    if (!good) {
        return fail(Code::network_setup_failed, "the host's rules for " + link_name(run.key) +
                                                    " read back differently than they were loaded");
    }
    return {};
}

// Held while rules are loaded that need what all runs share, and while that is taken away because
// nobody does.
Result<FileLock> lock_shared(const StateDir& state, const Deadline& deadline)
{
    return FileLock::take(state.path() + "/locks/network", deadline.left());
}

Status load_host_side(const StateDir& state, const Record& record, const Deadline& deadline)
{
    AH_TRY(auto nftables, Netlink::open(NETLINK_NETFILTER, deadline), "");
    AH_TRY(const FileLock lock, lock_shared(state, deadline), "");
    return load_and_compare(nftables, host_run(record));
}

Status send_unless_gone(Netlink& nftables, const std::vector<Step>& steps)
{
    const auto sent = nftables.send(steps);
    return sent || sent.error().number == ENOENT ? Status() : sent; // somebody flushed it all
}

// The run's own, and with the last of all runs what they shared, of whatever state directory. Who
// comes meanwhile finds the shared part missing, for it loads under the lock.
Status drop_rules(const StateDir& state, const Record& record, Netlink& nftables,
                  const Deadline& deadline)
{
    AH_TRY(const FileLock lock, lock_shared(state, deadline), "");
    HostRun own = host_run(record); // under the lock: records name their guests before rules do
    AH_TRY(own.network.guest, unclaimed_guests(state, std::move(own.network.guest), record.key),
           "");
    AH_CHECK(send_unless_gone(nftables, drop_host_rules(own)), "");
    AH_TRY(const RunRules others, ask_run_rules(nftables), "");
    const bool last = others.links.empty() && others.guests.empty();
    return last ? send_unless_gone(nftables, drop_shared_table()) : Status();
}

Status release_subnets(const StateDir& state, const RunKey& key)
{
    const auto listed = held_subnets(state);
    if (!listed && listed.error().number == ENOENT)
        return {}; // nobody has reserved anything yet
    AH_TRY(const auto holds, listed, "find the subnet of run " + key.text());
    for (const Hold& hold : holds) {
        if (hold.key == key.text())
            AH_CHECK(release_subnet(state, key, hold.generation, hold.subnet), "");
    }
    return {};
}

Status plug_veth(const StateDir& state, const Record& record, Network& network, const Netns& netns,
                 Conversations& inside, Netlink& route)
{
    AH_TRY(const RunKey key, RunKey::parse(record.key), "");
    const std::string name = link_name(record.key);
    AH_CHECK(remove_leftover(route, name), "");
    AH_TRY(RoutedHost host, RoutedHost::open(route), "");
    const auto routed = [&host](const Subnet& subnet) { return host.touching(subnet); };
    AH_TRY(network.subnet, reserve_subnet(state, key, record.generation, network.pool, routed), "");
    AH_CHECK(route.send(make_veth(name, inside_link, netns.fd.get())), "");
    AH_TRY(const auto outer, find_link(route, name), "");
    AH_TRY(const auto inner, find_link(inside.route, inside_link), "");
    if (!outer || !inner)
        return fail(Code::network_setup_failed, "link " + name + " is not where it was made");
    network.link = outer->index;
    network.links = {inner->index};
    const Step plain = without_ipv6(inner->index);
    return inside.route.send({&plain, 1});
}

Status plug_in_place(Network& network, Conversations& inside)
{
    AH_TRY(const auto links, links_in(inside.route), "");
    for (const Link& link : links) {
        if (!link.is_loopback())
            network.links.push_back(link.index);
    }
    AH_TRY(const auto addresses, addresses_in(inside.route, network.pool), "");
    const auto denied = always_denied(network.pool);
    for (const Prefix& address : addresses) {
        if (!is_covered(address, denied)) // loopback and link-local lead nowhere outside
            network.guest.push_back(address);
    }
    return {};
}

} // namespace

InsidePlan inside_plan(const Record& record)
{
    InsidePlan plan;
    plan.posture = record.posture;
    if (record.network)
        plan.network = *record.network;
    if (!plan.network.links.empty())
        plan.link = plan.network.links.front();
    // The address the node sends from to a run on a link of ours.
    const auto subnet = plan.network.subnet;
    if (const auto gateway = Prefix::parse(subnet ? subnet->gateway_text() : "", Code()))
        plan.network.node.push_back(*gateway);
    return plan;
}

Status plug_in(const StateDir& state, Record& record, const Netns& netns, Conversations& inside,
               const Deadline& deadline)
{
    if (!record.network)
        return fail(Code::network_setup_failed, "the record names no network");
    Network& network = *record.network;
    AH_TRY(auto route, Netlink::open(NETLINK_ROUTE, deadline), "");
    if (record.posture == Posture::filtered && record.technique == Technique::veth)
        AH_CHECK(check_forwarding(network, record), "");
    if (record.posture == Posture::filtered) { // no other table goes by them
        AH_TRY(network.node, addresses_in(route, network.pool), "");
    }
    if (record.technique == Technique::veth) {
        AH_CHECK(plug_veth(state, record, network, netns, inside, route), "");
    } else {
        AH_CHECK(check_alone(netns), ""); // a neighbour would be filtered unasked
        AH_CHECK(plug_in_place(network, inside), "");
        AH_CHECK(state.write(record), ""); // what the host's rules go by, before there are any
    }
    if (record.posture == Posture::filtered)
        AH_CHECK(keep_netns(state, record, netns), "");
    return load_host_side(state, record, deadline);
}

Status open_link(Record& record, Conversations& inside, const Deadline& deadline)
{
    if (record.technique != Technique::veth)
        return {};
    const Network network = record.network.value_or(Network());
    const Subnet subnet = network.subnet.value_or(Subnet());
    AH_TRY(auto route, Netlink::open(NETLINK_ROUTE, deadline), "");
    const Link outer{.index = network.link, .name = link_name(record.key), .kind = "veth"};
    const Link inner{.index = network.links.front(), .name = inside_link, .kind = "veth"};
    const std::array within = {add_address(inner.index, subnet.inside()), set_link(inner, Flag::up),
                               add_neighbour(inner.index, subnet.gateway(), outer.name, End::host)};
    AH_CHECK(inside.route.send(within), "");
    const std::array without = {
        add_address(outer.index, subnet.gateway()), set_link(outer, Flag::up),
        add_neighbour(outer.index, subnet.inside(), outer.name, End::inside)};
    AH_CHECK(route.send(without), "");
    if (record.posture == Posture::filtered) {
        const Step step = add_default_route(inner.index, subnet.gateway());
        AH_CHECK(inside.route.send({&step, 1}), "");
    }
    auto answers = route.list(ask_route(subnet.gateway(), subnet.inside()));
    const auto answer = answers && !answers->empty()
                            ? read_answer(answers->front())
                            : Result<RouteAnswer>(std::unexpected(
                                  answers ? Error{Code::network_setup_failed, 0, "no answer"}
                                          : std::move(answers).error()));
    return judge_route(answer, subnet, outer.index);
}

Result<Held> hold_host_rules(const StateDir& state, const Record& record, const Deadline& deadline)
{
    AH_TRY(auto nftables, Netlink::open(NETLINK_NETFILTER, deadline), "");
    AH_TRY(const FileLock lock, lock_shared(state, deadline), "");
    const HostRun run = host_run(record);
    AH_TRY(const bool good, stands(nftables, run), "read the host's rules");
    if (good)
        return Held::stood;
    AH_CHECK(load_and_compare(nftables, run), "restore the host's rules");
    return Held::restored;
}

Status note_denied(const StateDir& state, Record& record)
{
    UniqueFd kept(::open(kept_netns(state, record).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!kept || record.posture != Posture::filtered)
        return {}; // `up` did not get that far
    const Netns netns{.fd = std::move(kept), .identity = {}, .init = {}};
    auto inside = talk_inside(netns, Deadline(patience));
    if (!inside && inside.error().number == EINVAL)
        return {}; // the file alone: its mount is gone, or was made in another mount namespace
    if (!inside)
        return std::unexpected(std::move(inside).error());
    if (!inside->nftables)
        return std::unexpected(inside->nftables.error());
    std::vector<Message> listed;
    for (const Step& request : list_denied()) {
        AH_TRY(auto messages, inside->nftables->list(request), "read what was refused");
        std::ranges::move(messages, std::back_inserter(listed));
    }
    AH_TRY(record.denied, read_denied(listed, std::time(nullptr)), "read what was refused");
    return {};
}

Result<std::vector<Prefix>> unclaimed_guests(const StateDir& state, std::vector<Prefix> guests,
                                             std::string_view but_by)
{
    if (guests.empty())
        return guests;
    AH_TRY(const auto keys, state.runs(), "");
    for (const RunKey& key : keys) {
        if (key.text() == but_by)
            continue;
        const auto read = state.read(key);
        if (!read)
            guests.clear(); // any of them may be its
        const Record record = read ? read->value_or(Record()) : Record();
        const std::vector<Prefix> claimed = record.network.value_or(Network()).guest;
        std::erase_if(guests, [&](const Prefix& guest) { return is_covered(guest, claimed); });
    }
    return guests;
}

Status drop_rules(const StateDir& state, const Record& record)
{
    const Deadline deadline(patience);
    AH_TRY(auto nftables, Netlink::open(NETLINK_NETFILTER, deadline), "");
    return drop_rules(state, record, nftables, deadline);
}

Status unplug(const StateDir& state, Record& record)
{
    if (const auto noted = note_denied(state, record); !noted)
        record.advice.push_back("what was refused is not known: " + noted.error().what);
    AH_TRY(const FileIdentity here, namespace_of(0, "net"), "");
    if (here != record.host_netns)
        return fail(Code::network_setup_failed, "its link is in another network namespace");
    const Deadline deadline(patience);
    AH_TRY(auto route, Netlink::open(NETLINK_ROUTE, deadline), "");
    const std::string name = link_name(record.key);
    // While its rules stand, and when it is down, nothing is open. Both removals end with a grace
    // period of the kernel's; in this order they pass it together.
    AH_TRY(const auto link, find_link(route, name), "");
    if (link) {
        const Step down = set_link(*link, Flag::down);
        AH_CHECK(route.send({&down, 1}), "");
    }
    AH_TRY(auto nftables, Netlink::open(NETLINK_NETFILTER, deadline), ""); // open to the end
    const auto dropped = drop_rules(state, record, nftables, deadline);
    AH_CHECK(remove_leftover(route, name), "");
    // Last: a namespace that ends keeps the kernel busy, and us waiting for it.
    (void)::umount2(kept_netns(state, record).c_str(), MNT_DETACH); // there may be none
    AH_CHECK(dropped, "");
    AH_TRY(const RunKey key, RunKey::parse(record.key), "");
    return release_subnets(state, key);
}

} // namespace anchorhold
