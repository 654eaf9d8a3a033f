// SPDX-License-Identifier: Apache-2.0
// How a run is confined again after create. Docker from 28 on, podman with a user namespace, and
// `docker network connect` plug interfaces in after create has returned. So the namespace is looked
// at again before `start` (guard), and while the run lives (hold, from gc). In order:
//
// 1. The record must be that of an enforced run, and the namespace the one that was confined.
// 2. A container in a pod has no network of its own: the run that holds its pod's network is
//    confined instead.
// 3. The denied connections are written into the record. The table may be about to be loaded anew,
//    and then it forgets them.
// 4. If the host's or the container's addresses changed, the record is written, then the rules.
// 5. The table inside must stand, or it is loaded again. The same goes for the host's rules.
// 6. Only before `start`: the link is checked, and what others plugged in is removed.
// 7. The record is written if anything in it has changed.
#include "hooks/confine.hpp"
#include "hooks/denied.hpp"
#include "hooks/net/conntrack.hpp"
#include "hooks/network.hpp"
#include "hooks/nft/host_rules.hpp"
#include "hooks/state/process.hpp"
#include "hooks/verbs.hpp"
#include "schema/file_identity.hpp"
#include "schema/rules/always_denied.hpp"
#include "schema/rules/denied_set.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace anchorhold {
namespace {

Result<Record> enforced_record(const state::StateDir& state, const RunKey& key,
                               std::string_view generation)
{
    AH_TRY(auto record, state.read(key));
    if (!record || record->generation != generation || record->state != RunState::enforced)
        return fail(Code::network_setup_failed, "no such run is enforced");
    AH_TRY(const std::string boot, state::boot_id());
    AH_TRY(const FileIdentity pids, state::namespace_of(0, "pid"));
    if (record->boot_id != boot || record->host_pidns != pids)
        return fail(Code::network_setup_failed, "the run was made in another pid namespace");
    return *std::move(record);
}

bool claims(const Record& record, std::string_view word)
{
    return std::ranges::find(record.verified, word) != record.verified.end();
}

Result<net::Netns> same_namespace(const Record& record)
{
    AH_TRY(auto netns, net::netns_of(static_cast<pid_t>(record.init.pid)));
    if (netns.init != record.init || netns.identity != record.netns)
        return fail(Code::network_setup_failed, "the container is not the one that was confined");
    return netns;
}

void add_missing(std::vector<std::string>& to, const std::vector<std::string>& texts)
{
    for (const std::string& text : texts) {
        if (std::ranges::find(to, text) == to.end())
            to.push_back(text);
    }
}

// Adds only what the record does not say yet. gc calls again and again while the run lives.
void add_news(Record& record, const Confinement& confined)
{
    add_missing(record.verified, confined.verified);
    add_missing(record.advice, confined.notes);
}

// Writes the denied connections into the record. A table that is loaded anew forgets them.
void keep_denied(const state::StateDir& state, Record& record, net::Conversations& inside,
                 Confinement& confined)
{
    const Record found = record;
    const auto noted = note_denied(record, inside);
    if (!noted && noted.error().number != ENOENT) // ENOENT: there is no table
        confined.notes.push_back("what was refused is not known: " + noted.error().what);
    if (record != found)
        (void)state.write(record); // if this fails, the next write saves it; the table matters more
}

std::vector<rules::Prefix> guests_of(const Record& record)
{
    return record.network.value_or(rules::Network()).guest;
}

// Brings the record, and the host's rules, up to date with changed addresses. The record is written
// first: it must name the guests before the host's rules do.
Status follow_changes(const state::StateDir& state, Record& record, net::Conversations& inside,
                      const state::Deadline& deadline, Confinement& confined)
{
    std::vector<rules::Prefix> before = guests_of(record);
    AH_TRY(const bool changed, look_again(record, inside, deadline));
    if (!changed)
        return {};
    confined.notes.emplace_back("the host's or the container's addresses changed, and the rules "
                                "with them");
    AH_CHECK(state.write(record));
    const std::vector<rules::Prefix> now = guests_of(record);
    std::erase_if(before, [&now](const rules::Prefix& address) {
        return std::ranges::find(now, address) != now.end();
    });
    return before.empty() ? Status() : nft::drop_guests(state, record, std::move(before), deadline);
}

// Ends the container's connections to what it may not reach any more: a table accepts what is
// established without asking its list. The next packet of one that is forgotten begins anew, and is
// refused. Connections of the node's stay, and so do those to the broker.
Status end_closed_connections(const Record& record, net::Conversations& inside)
{
    if (record.posture != Posture::filtered || !record.network || !inside.nftables)
        return {};
    const rules::Network& network = *record.network;
    std::vector<rules::Prefix> others = rules::always_denied(network.pool); // never were reached
    others.insert(others.end(), network.guest.begin(), network.guest.end());
    for (const net::Step& request : net::list_connections()) {
        AH_TRY(const auto messages, inside.nftables->list(request));
        for (const net::Message& message : messages) {
            AH_TRY(const auto flow, net::read_flow(message));
            if (!flow || rules::is_covered(flow->to, others) ||
                rules::judge(network, flow->to, flow->port, flow->udp).ruling ==
                    rules::Ruling::allowed)
                continue;
            const auto ended = inside.nftables->send({&flow->forget, 1});
            if (!ended && ended.error().number != ENOENT)
                return ended;
        }
    }
    return {};
}

// Makes the tables of an enforced run stand, inside and at the host.
Status hold_rules(const state::StateDir& state, Record& record, net::Conversations& inside,
                  const state::Deadline& deadline, Confinement& confined)
{
    const bool stood = claims(record, verified::drop_table);
    AH_CHECK(hold_table(inside, inside_plan(record), Moment::starting, stood, confined));
    if (confined.loaded) {
        rules::begin_denied_anew(record);
        if (const auto ended = end_closed_connections(record, inside); !ended)
            confined.notes.push_back("what stood open before may still be: " + ended.error().what);
    }
    if (!record.network)
        return {};
    AH_TRY(const nft::HostRulesFound held, nft::hold_host_rules(state, record, deadline));
    if (held == nft::HostRulesFound::restored)
        confined.notes.emplace_back("the host's rules for this run were gone, and were restored");
    return {};
}

enum class Scope : std::uint8_t {
    tables,     // only the tables
    links,      // the tables and links; others of the pod may listen
    everything, // the tables, links and listeners
};

// The run that holds the network of a container's pod, as the container's record names it.
struct Holder {
    RunKey key;
    std::string generation;
};

Result<Holder> holder_of(const Record& member)
{
    const std::size_t dot = member.pod.find('.');
    AH_TRY(const RunKey key, RunKey::parse(member.pod.substr(0, dot)), "the pod's run");
    return Holder{key, dot == std::string::npos ? "" : member.pod.substr(dot + 1)};
}

Status confine_again(const state::StateDir& state, const RunKey& key, std::string_view generation,
                     Scope scope, const state::Deadline& deadline);

Status confine_pod_again(const state::StateDir& state, const Record& member, Scope scope,
                         const state::Deadline& deadline)
{
    AH_TRY(const Holder holder, holder_of(member));
    AH_TRY(const auto record, state.read(holder.key));
    if (!record || record->generation != holder.generation || !state::is_alive(record->init)) {
        // The sandbox ended first. The table that holds its network stays and is never loosened.
        if (scope == Scope::tables)
            return {};
        return fail(Code::network_setup_failed, "the sandbox of its pod is gone");
    }
    return confine_again(state, holder.key, holder.generation,
                         scope == Scope::tables ? scope : Scope::links, deadline);
}

Status confine_again(const state::StateDir& state, const RunKey& key, std::string_view generation,
                     Scope scope, const state::Deadline& deadline)
{
    AH_TRY(const state::RunLock lock, state::RunLock::take(state, key, deadline.left()));
    AH_TRY(auto record, enforced_record(state, key, generation));
    if (record.posture == Posture::open)
        return {};
    AH_TRY(const FileIdentity here, state::namespace_of(0, "net"));
    if (scope == Scope::tables && record.network && record.host_netns != here)
        return {}; // the run's host rules are in another namespace; gc over there holds the run
    AH_TRY(const net::Netns netns, same_namespace(record));
    if (record.technique == Technique::pod)
        return confine_pod_again(state, record, scope, deadline);
    AH_TRY(auto inside, net::talk_inside(netns, deadline));
    const Record found = record;
    Confinement confined;
    keep_denied(state, record, inside, confined);
    AH_CHECK(follow_changes(state, record, inside, deadline, confined));
    AH_CHECK(hold_rules(state, record, inside, deadline, confined));
    if (scope != Scope::tables) {
        const Moment moment = scope == Scope::links ? Moment::joining : Moment::starting;
        AH_CHECK(check_link(record, inside, deadline, &confined.notes));
        AH_CHECK(empty_out(inside, inside_plan(record), moment, deadline, confined));
    }
    add_news(record, confined);
    return record == found ? Status() : state.write(record);
}

} // namespace

Result<Record> hold_pod(const state::StateDir& state, const Record& member,
                        const FileIdentity& netns, const state::Deadline& deadline)
{
    AH_TRY(const Holder holder, holder_of(member));
    AH_CHECK(confine_again(state, holder.key, holder.generation, Scope::links, deadline),
             "the pod's network");
    AH_TRY(auto record, enforced_record(state, holder.key, holder.generation), "the pod's network");
    if (record.netns != netns || !state::is_alive(record.init)) {
        return fail(Code::network_setup_failed,
                    "the container is not in the network namespace of its pod");
    }
    return record;
}

Status guard(const state::StateDir& state, const RunKey& key, std::string_view generation,
             const state::Deadline& deadline)
{
    return confine_again(state, key, generation, Scope::everything, deadline);
}

Status hold(const state::StateDir& state, const RunKey& key, std::string_view generation,
            const state::Deadline& deadline)
{
    return confine_again(state, key, generation, Scope::tables, deadline);
}

} // namespace anchorhold
