// SPDX-License-Identifier: Apache-2.0
#include "hooks/unplug.hpp"

#include "hooks/denied_connections.hpp"
#include "hooks/elsewhere.hpp"
#include "hooks/net/links.hpp"
#include "hooks/nft/host_rules.hpp"
#include "hooks/state/process.hpp"
#include "hooks/state/subnets.hpp"
#include "schema/file_identity.hpp"

#include <cerrno>
#include <linux/netlink.h>
#include <sys/mount.h>

namespace anchorhold {
namespace {

constexpr std::chrono::seconds patience_for_teardown(5); // no runtime waits for it

// Turns ENODEV into success: the link is gone already.
Status unless_gone(Status done)
{
    return !done && done.error().number == ENODEV ? Status() : done;
}

void unkeep_netns(const state::StateDir& state, const std::string& key)
{
    (void)::umount2(kept_netns(state, key).c_str(), MNT_DETACH); // there may be none
}

// Removes the link and the host's rules of a run, and lets its namespace go. Leaves them alone when
// the link bears an alias that does not end with `alias_end`: then both are another run's, made by
// an engine that has another state directory.
Status remove_from_host(const state::StateDir& state, const nft::HostRun& run,
                        const std::string& alias_end)
{
    const state::Deadline deadline(patience_for_teardown);
    AH_TRY(auto route, net::Netlink::open(NETLINK_ROUTE, deadline));
    const std::string name = rules::link_name(run.key);
    // The order: set the link down, drop its rules, remove it. Nothing is open while its rules
    // stand, nor when it is down. Both removals wait for a grace period of the kernel, and in this
    // order they wait for the same one. The link may end by itself meanwhile, with the namespace of
    // its other end.
    AH_TRY(const auto link, net::find_link(route, name));
    if (link && !link->alias.empty() && !link->alias.ends_with(alias_end))
        return {};
    if (link) {
        const net::Step down = net::set_link(*link, net::Flag::down);
        AH_CHECK(unless_gone(route.send({&down, 1})));
    }
    // The socket stays open to the end: closing it waits for the grace period.
    AH_TRY(auto nftables, net::Netlink::open(NETLINK_NETFILTER, deadline));
    const auto dropped = nft::drop_rules(state, run, nftables, deadline);
    AH_CHECK(remove_leftover(route, name));
    // This comes last: a namespace that ends keeps the kernel busy, and we would wait for it.
    unkeep_netns(state, run.key);
    return dropped;
}

// Releases every subnet that is reserved for a key. Reading a thousand reservations takes 4 ms.
Status release_reserved(const state::StateDir& state, const RunKey& key)
{
    const auto listed = state::reserved_subnets(state);
    if (!listed && listed.error().number == ENOENT)
        return {}; // nobody has reserved anything yet
    AH_TRY(const auto reserved, listed, "find the subnet of run " + key.text());
    for (const state::SubnetReservation& one : reserved) {
        if (one.key == key.text())
            AH_CHECK(state::release_subnet(state, key, one.generation, one.subnet));
    }
    return {};
}

// Releases the subnet of a run, which may have reserved one that its record does not name yet.
Status release_subnets(const state::StateDir& state, const Record& record)
{
    AH_TRY(const RunKey key, RunKey::parse(record.key));
    if (record.network && record.network->subnet)
        return state::release_subnet(state, key, record.generation, *record.network->subnet);
    return release_reserved(state, key);
}

} // namespace

std::string link_alias(const Record& record)
{
    return "anchorhold " + record.generation + " " + record.host_pidns.text();
}

bool is_made_elsewhere(const net::Link& link, const FileIdentity& pidns)
{
    return link.alias.starts_with("anchorhold ") && !link.alias.ends_with(" " + pidns.text());
}

Status remove_leftover(net::Netlink& route, const std::string& name)
{
    const net::Step step = net::remove_link_named(name);
    return unless_gone(route.send({&step, 1}));
}

Status unplug(const state::StateDir& state, Record& record)
{
    AH_TRY(const std::string boot, state::boot_id());
    if (record.boot_id != boot) // nothing of it outlived that boot's kernel
        return release_subnets(state, record);
    if (const auto noted = note_denied(state, record); !noted)
        record.advice.push_back("what was denied is not known: " + noted.error().what);
    if (record.technique == Technique::gate) { // nothing of it is in the host's network
        unkeep_netns(state, record.key);
        return {};
    }
    AH_TRY(const FileIdentity here, state::namespace_of(0, "net"));
    if (here != record.host_netns) {
        AH_CHECK(check_all_gone(record));
        unkeep_netns(state, record.key);
        return release_subnets(state, record);
    }
    const std::string pids = " " + record.host_pidns.text();
    AH_CHECK(
        remove_from_host(state, nft::host_run(record),
                         record.generation == state::no_generation ? pids : link_alias(record)));
    return release_subnets(state, record);
}

Status unplug_orphan(const state::StateDir& state, const RunKey& key)
{
    AH_TRY(const FileIdentity pids, state::namespace_of(0, "pid"));
    // No record tells its posture, so everything that can bear the key is removed.
    AH_CHECK(remove_from_host(state,
                              {.key = key.text(),
                               .posture = Posture::filtered,
                               .technique = Technique::veth,
                               .network = {}},
                              " " + pids.text()));
    return release_reserved(state, key);
}

} // namespace anchorhold
