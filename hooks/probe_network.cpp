// SPDX-License-Identifier: Apache-2.0
#include "hooks/probe_network.hpp"

#include "hooks/gate_sockets.hpp"
#include "hooks/net/local_routes.hpp"
#include "hooks/net/netns.hpp"
#include "hooks/net/veth.hpp"
#include "hooks/nft/host_table.hpp"
#include "hooks/nft/inside_table.hpp"
#include "hooks/state/probe_cache.hpp"
#include "hooks/state/process.hpp"
#include "schema/rules/gate_rules.hpp"

#include <cerrno>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>

namespace anchorhold {
namespace {

constexpr std::chrono::seconds patience(4);
constexpr const char* nobodys_key = "000000000000";

std::string_view remedy_for(int number)
{
    switch (number) {
    case EPERM: return "run as root with CAP_SYS_ADMIN and CAP_NET_ADMIN";
    case EOPNOTSUPP:
    case ENOENT:
    case EPROTONOSUPPORT: return "use a kernel with veth and nf_tables (inet, netdev, fib, reject)";
    case ENOSPC: return "raise user.max_net_namespaces";
    default: return "see the step and its errno";
    }
}

state::ProbeAnswer answer_from(std::string_view name, const Status& done)
{
    if (done)
        return {.name = std::string(name), .yes = true, .step = {}, .remedy = {}};
    const Error& error = done.error();
    std::string step = error.what;
    if (error.number != 0) { // the answer has the errno in a member of its own
        const std::string said = system_error("", error.number).what;
        if (step.ends_with(said))
            step.resize(step.size() - said.size());
    }
    return {
        std::string(name), false, step, error.number, std::string(remedy_for(error.number)), false};
}

nft::HostRun a_run(Posture posture)
{
    nft::HostRun run{nobodys_key, posture, Technique::veth, {}};
    run.network.broker_ports = {1};
    run.network.subnet = *rules::Subnet::parse("198.18.0.0/30", Code::network_setup_failed);
    run.network.link = 2;
    run.network.links = {3};
    return run;
}

// Enters a new network namespace, and checks that it is one: what follows must not happen to the
// host.
Status leave_host()
{
    const auto before = state::namespace_of(0, "net");
    if (::unshare(CLONE_NEWNET) != 0)
        return fail_errno("unshare(CLONE_NEWNET)", errno);
    const auto after = state::namespace_of(0, "net");
    if (!before || !after || *before == *after)
        return fail(Code::network_setup_failed, "compare the namespaces");
    return {};
}

// Says whether we may make links in the host's namespace, where a run's host end is. The user
// namespace of a rootless engine does not own it. We ask the kernel to remove a link that does not
// exist: it checks our rights before it looks for the link.
Status may_change_host()
{
    AH_TRY(auto route, net::Netlink::open(NETLINK_ROUTE, state::Deadline(patience)));
    const std::vector<net::Step> steps{net::remove_link_named(rules::link_name(nobodys_key))};
    const Status done = route.send(steps);
    return done || done.error().number == ENODEV ? Status() : done;
}

Status seal(net::Netlink& nftables)
{
    const UniqueFd here(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
    if (!here)
        return fail_errno("open the namespace", errno);
    AH_TRY(auto route, net::Netlink::open(NETLINK_ROUTE, state::Deadline(patience)));
    AH_CHECK(route.send(net::make_veth(rules::link_name(nobodys_key), "ahprobe", here.get())));
    return nftables.send(nft::load_host_rules(a_run(Posture::sealed)));
}

Status filter(net::Netlink& nftables)
{
    const nft::HostRun run = a_run(Posture::filtered);
    AH_CHECK(nftables.send(nft::load_host_rules(run)));
    const std::vector<net::Step> gone = nft::drop_host_rules(run);
    AH_CHECK(nftables.send(gone));
    return {};
}

// Loads the table of a filtered run in one more new namespace, as a container would have it: no
// table of ours stands there yet.
Status filter_inside()
{
    AH_CHECK(leave_host());
    AH_TRY(auto nftables, net::Netlink::open(NETLINK_NETFILTER, state::Deadline(patience)));
    const nft::InsidePlan plan{Posture::filtered, a_run(Posture::filtered).network, 2};
    return nftables.send(nft::load_inside_table(plan, nft::ExistingTable::none));
}

rules::Prefix some_handles()
{
    return rules::GateRules::default_handles();
}

// Plants in one more new namespace what a run with a gate has, all but the names.
Status plant_gate()
{
    AH_CHECK(leave_host());
    AH_TRY(auto route, net::Netlink::open(NETLINK_ROUTE, state::Deadline(patience)));
    AH_TRY(const std::optional<net::Link> lo, net::find_link(route, "lo"));
    if (!lo)
        return fail(Code::network_setup_failed, "find lo");
    const net::Step up = net::set_link(*lo, net::Flag::up);
    AH_CHECK(route.send({&up, 1}));
    AH_CHECK(route.send(net::make_v4_local(some_handles())));
    const net::Step v6 = net::make_v6_local();
    (void)route.send({&v6, 1}); // without IPv6 there is nothing to capture
    AH_TRY(auto nftables, net::Netlink::open(NETLINK_NETFILTER, state::Deadline(patience)));
    nft::InsidePlan plan{Posture::filtered, {}, 0, some_handles()};
    plan.network.pool = rules::GateRules::default_pool();
    plan.network.allow = {{some_handles(), {}}};
    return nftables.send(nft::load_inside_table(plan, nft::ExistingTable::none));
}

// Connects to a handle, and looks whether the gate's listener gets it with that very address.
Status capture()
{
    AH_CHECK(plant_gate());
    AH_TRY(const GateSockets sockets, open_gate_sockets(some_handles()));
    sockaddr_in handle = {};
    handle.sin_family = AF_INET;
    handle.sin_port = htons(rules::PortRange().first);
    handle.sin_addr.s_addr = htonl(rules::lo_address(some_handles()) + 1000);
    const UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!client ||
        ::connect(client.get(), reinterpret_cast<sockaddr*>(&handle), sizeof handle) != 0)
        return fail_errno("connect to an address that tproxy captures", errno);
    // On lo it is there when connect(2) returns.
    const UniqueFd captured(::accept4(sockets.capture4.get(), nullptr, nullptr, SOCK_CLOEXEC));
    sockaddr_in at = {};
    socklen_t size = sizeof at;
    if (!captured || ::getsockname(captured.get(), reinterpret_cast<sockaddr*>(&at), &size) != 0)
        return fail_errno("accept what tproxy captured", errno);
    if (at.sin_addr.s_addr != handle.sin_addr.s_addr || at.sin_port != handle.sin_port)
        return fail(Code::network_setup_failed, "tproxy changes the address");
    return {};
}

} // namespace

std::string probe_network()
{
    Status sealed = may_change_host();
    if (sealed)
        sealed = leave_host();
    Status filtered;
    if (!sealed) {
        filtered = sealed;
    } else if (auto nftables = net::Netlink::open(NETLINK_NETFILTER, state::Deadline(patience));
               !nftables) {
        sealed = std::unexpected(std::move(nftables).error());
    } else {
        sealed = seal(*nftables);
        filtered = sealed ? filter(*nftables) : sealed;
    }
    if (sealed && filtered)
        filtered = filter_inside();
    const Status gated = capture();
    state::ProbeAnswers answers;
    answers.answers = {answer_from("can_seal", sealed), answer_from("can_filter", filtered),
                       answer_from("can_gate", gated)};
    const bool lacks = !gated && gated.error().number == ENOENT;
    if (lacks)
        answers.answers.back().remedy = "use a kernel with nf_tables (inet, fib, reject, tproxy)";
    return to_json(answers);
}

} // namespace anchorhold
