// SPDX-License-Identifier: Apache-2.0
// Finds orphans:
//
// 1. List everything of ours that stands, by key (look_around).
// 2. Leave out what a run has a folder for (leave_out_runs).
// 3. Find out in which namespaces processes live (who_lives).
// 4. Remove what no living process is behind.
//
// A link that was made in another pid namespace is left and said: who is behind it can only be
// looked at over there.
//
// Chains and elements are listed before links. A run's link is made before them and removed after
// them. So for a run that is plugged in meanwhile the link is seen too, and the process behind it.
#include "hooks/orphans.hpp"

#include "hooks/net/netns.hpp"
#include "hooks/net/routes.hpp"
#include "hooks/nft/host_rules.hpp"
#include "hooks/nft/host_table.hpp"
#include "hooks/state/process.hpp"
#include "hooks/state/subnets.hpp"
#include "hooks/unplug.hpp"
#include "schema/file_identity.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <libmnl/libmnl.h>
#include <map>
#include <set>

#include <linux/net_namespace.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

namespace anchorhold {
namespace {

constexpr std::chrono::seconds patience_for_orphans(5);
// The kernel numbers the other namespaces for ours. A namespace that is ending has no number.
constexpr std::int32_t no_id = NETNSA_NSID_NOT_ASSIGNED;
// A link whose other end is in our own namespace names no number. We give it this one.
constexpr std::int32_t our_own = no_id - 1;
constexpr std::uint64_t all_pids = 0xeffffffc; // the first pid namespace: it sees every process

int keep_peer(const nlattr* attribute, void* data)
{
    if (mnl_attr_get_type(attribute) == IFLA_LINK_NETNSID &&
        mnl_attr_validate(attribute, MNL_TYPE_U32) == 0)
        *static_cast<std::int32_t*>(data) = static_cast<std::int32_t>(mnl_attr_get_u32(attribute));
    return MNL_CB_OK;
}

int keep_id(const nlattr* attribute, void* data)
{
    if (mnl_attr_get_type(attribute) == NETNSA_NSID &&
        mnl_attr_validate(attribute, MNL_TYPE_U32) == 0)
        *static_cast<std::int32_t*>(data) = static_cast<std::int32_t>(mnl_attr_get_u32(attribute));
    return MNL_CB_OK;
}

net::Step ask_id(int netns)
{
    alignas(nlmsghdr) std::array<char, 64> buffer{};
    nlmsghdr* const header = mnl_nlmsg_put_header(buffer.data());
    header->nlmsg_type = RTM_GETNSID;
    header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    mnl_nlmsg_put_extra_header(header, sizeof(rtgenmsg));
    mnl_attr_put_u32(header, NETNSA_FD, static_cast<std::uint32_t>(netns));
    const auto* const bytes = reinterpret_cast<const std::byte*>(header);
    return {"ask which namespace that is", net::Message(bytes, bytes + header->nlmsg_len)};
}

struct Remains {
    std::set<std::string> keys;                // of links, chains, elements and reservations
    std::map<std::string, std::int32_t> peers; // a link's key, and the number of its other end
    std::set<std::string> elsewhere;           // keys of links made in another pid namespace
    std::vector<rules::Prefix> guests;
    std::vector<rules::Prefix> guests_elsewhere; // of runs that were made in another pid namespace
    bool empty() const { return keys.empty() && guests.empty() && guests_elsewhere.empty(); }
};

Status look_at_links(net::Netlink& route, Remains& remains)
{
    AH_TRY(const auto messages, route.list(net::list_links()));
    AH_TRY(const FileIdentity pids, state::namespace_of(0, "pid"));
    for (const net::Message& message : messages) {
        AH_TRY(const net::Link link, net::read_link(message));
        const auto key = nft::key_of_link(link.name);
        if (!key || link.kind != "veth")
            continue;
        std::int32_t peer = our_own;
        if (mnl_attr_parse(net::header_of(message), sizeof(ifinfomsg), keep_peer, &peer) < 0)
            return fail(Code::network_setup_failed, "read a link: broken attributes");
        if (is_made_elsewhere(link, pids))
            remains.elsewhere.insert(key->text());
        remains.keys.insert(key->text());
        remains.peers.emplace(key->text(), peer);
    }
    return {};
}

Status look_at_reservations(const std::string& path, Remains& remains)
{
    AH_TRY(const auto state, state::StateDir::existing(path));
    if (!state)
        return {};
    const auto held = state::reserved_subnets(*state);
    if (!held && held.error().number == ENOENT)
        return {}; // the state directory was emptied
    AH_CHECK(held);
    for (const state::SubnetReservation& hold : *held)
        remains.keys.insert(hold.key);
    return {};
}

Result<Remains> look_around(const std::string& path, net::Netlink& route, net::Netlink& nftables)
{
    Remains remains;
    AH_CHECK(look_at_reservations(path, remains));
    auto rules = nft::ask_run_rules(nftables);
    if (!rules && rules.error().number == EPERM)
        return Remains(); // a rootless user may not look, and so has put nothing there
    AH_CHECK(rules, "list the host's rules");
    for (const std::string& link : rules->links) {
        if (const auto key = nft::key_of_link(link))
            remains.keys.insert(key->text());
    }
    AH_TRY(const FileIdentity pids, state::namespace_of(0, "pid"));
    for (const nft::GuestRules& guest : rules->guests) {
        const bool ours = guest.owner.empty() || guest.owner == pids.text();
        auto& where = ours || pids.inode == all_pids ? remains.guests : remains.guests_elsewhere;
        where.push_back(guest.address);
    }
    AH_CHECK(look_at_links(route, remains), "list the links");
    return remains;
}

// Leaves out what a run has a folder for, and the guests that a record claims: that is most of it.
Status leave_out_runs(const state::StateDir& state, Remains& remains)
{
    AH_TRY(const auto runs, state.runs());
    for (const RunKey& run : runs)
        remains.keys.erase(run.text());
    AH_TRY(remains.guests, nft::unclaimed_guests(state, std::move(remains.guests), {}));
    return {};
}

// Returns the processes of each network namespace, without our own.
Result<std::vector<std::vector<pid_t>>> inhabitants()
{
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<pid_t>> found;
    AH_TRY(const FileIdentity here, state::namespace_of(0, "net"));
    AH_TRY(const auto pids, state::every_process());
    for (const pid_t pid : pids) {
        const auto there = state::namespace_of(pid, "net");
        if (there && *there != here)
            found[{there->device, there->inode}].push_back(pid);
        if (!there && there.error().number != ENOENT && there.error().number != ESRCH)
            return std::unexpected(there.error()); // the process may be in any namespace
    }
    std::vector<std::vector<pid_t>> all;
    all.reserve(found.size());
    for (auto& [netns, dwellers] : found)
        all.push_back(std::move(dwellers));
    return all;
}

// Opens the namespace of these processes, through one that still lives. Returns nullopt when all
// have ended meanwhile.
Result<std::optional<net::Netns>> open_netns(const std::vector<pid_t>& pids)
{
    for (const pid_t pid : pids) {
        auto netns = net::netns_of(pid);
        if (netns)
            return *std::move(netns);
        if (netns.error().number != ESRCH && netns.error().number != ENOENT)
            return std::unexpected(std::move(netns).error());
    }
    return std::nullopt;
}

struct Living {
    std::set<std::int32_t> ids = {our_own}; // the numbers of namespaces with a process
    std::vector<rules::Prefix> addresses;   // in those namespaces; only read if there are guests
};

Status add_addresses(const net::Netns& netns, Living& living)
{
    AH_TRY(auto inside, net::talk_inside(netns, state::Deadline(patience_for_orphans)));
    AH_TRY(const auto messages, inside.route.list(net::list_addresses()));
    for (const net::Message& message : messages) {
        AH_TRY(const auto address, net::read_address(message), "read the addresses");
        if (address)
            living.addresses.push_back(*address);
    }
    return {};
}

Result<Living> who_lives(const Remains& remains, net::Netlink& route)
{
    Living living;
    AH_TRY(const auto all, inhabitants());
    for (const auto& pids : all) {
        AH_TRY(const auto netns, open_netns(pids));
        if (!netns)
            continue;
        AH_TRY(const auto answers, route.list(ask_id(netns->fd.get())));
        std::int32_t id = no_id;
        for (const net::Message& message : answers)
            (void)mnl_attr_parse(net::header_of(message), sizeof(rtgenmsg), keep_id, &id);
        if (id != no_id) // no link leads to a namespace without a number
            living.ids.insert(id);
        if (!remains.guests.empty())
            AH_CHECK(add_addresses(*netns, living));
    }
    return living;
}

// Removes everything with that key. Returns false when it was left alone.
Result<bool> remove_orphan(const state::StateDir& state, const std::string& text)
{
    AH_TRY(const RunKey key, RunKey::parse(text));
    if (state.has_run(key))
        return false;
    AH_TRY(const auto lock, state::RunLock::try_take(state, key));
    if (!lock || state.has_run(key))
        return false;
    AH_CHECK(unplug_orphan(state, key));
    return true;
}

Status remove_guests(const state::StateDir& state, std::vector<rules::Prefix> guests,
                     const Living& living, net::Netlink& nftables, state::SweepResult& swept)
{
    std::erase_if(guests, [&](const rules::Prefix& guest) {
        return rules::is_covered(guest, living.addresses);
    });
    if (guests.empty())
        return {};
    nft::HostRun run{
        .key = {}, .posture = Posture::filtered, .technique = Technique::in_place, .network = {}};
    run.network.guest = guests;
    AH_CHECK(
        nft::drop_rules(state, std::move(run), nftables, state::Deadline(patience_for_orphans)));
    for (const rules::Prefix& guest : guests)
        swept.removed.push_back(guest.text());
    return {};
}

} // namespace

Result<state::SweepResult> sweep_orphans(const std::string& state_path)
{
    const state::Deadline deadline(patience_for_orphans);
    AH_TRY(auto route, net::Netlink::open(NETLINK_ROUTE, deadline));
    AH_TRY(auto nftables, net::Netlink::open(NETLINK_NETFILTER, deadline));
    AH_TRY(Remains remains, look_around(state_path, route, nftables));
    state::SweepResult swept;
    if (remains.empty())
        return swept;
    AH_TRY(const state::StateDir state, state::StateDir::open(state_path));
    AH_CHECK(leave_out_runs(state, remains));
    for (const rules::Prefix& guest : remains.guests_elsewhere)
        swept.left.push_back(guest.text() + ": its rules were made in another pid namespace");
    if (remains.keys.empty() && remains.guests.empty())
        return swept;
    AH_TRY(const Living living, who_lives(remains, route), "look who lives");
    for (const std::string& key : remains.keys) {
        ++swept.looked_at;
        if (remains.elsewhere.contains(key)) {
            swept.left.push_back(key + ": its link was made in another pid namespace");
            continue;
        }
        const auto link = remains.peers.find(key);
        if (link != remains.peers.end() && living.ids.contains(link->second))
            continue;
        const auto removed = remove_orphan(state, key);
        if (!removed) {
            swept.failed.push_back(key + ": " + removed.error().what);
        } else if (*removed) {
            swept.removed.push_back(key);
        }
    }
    if (const auto done = remove_guests(state, remains.guests, living, nftables, swept); !done)
        swept.failed.push_back("guests: " + done.error().what);
    return swept;
}

} // namespace anchorhold
