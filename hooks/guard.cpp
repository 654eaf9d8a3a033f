// SPDX-License-Identifier: Apache-2.0
// Checks a run's network again after create, and restores what was taken away. Docker from 28 on,
// podman with a user namespace, and `docker network connect` plug interfaces in after create has
// returned. So the namespace is checked before `start` (the word `guard`), and by gc while the run
// lives (the word `hold`, tables only). In order:
//
// 1. The record must be that of an enforced run, and the namespace the one that was confined.
// 2. A container in a pod has no network of its own: the run that holds its pod's network is
//    confined instead.
// 3. The denied connections are written into the record. The table may be about to be loaded anew,
//    and then it forgets them.
// 4. If the host's or the container's addresses changed, the record is written, then the rules.
// 5. The table inside must stand, or it is loaded again. The same goes for the host's rules.
// 6. A gate that is gone is started again from gc, and refused before `start`.
// 7. Only before `start`: the link is checked, and what others plugged in is removed.
// 8. The record is written if anything in it has changed.
#include "hooks/confine.hpp"
#include "hooks/denied_connections.hpp"
#include "hooks/files/whole_file.hpp"
#include "hooks/net/conntrack.hpp"
#include "hooks/network.hpp"
#include "hooks/nft/host_rules.hpp"
#include "hooks/run_gate.hpp"
#include "hooks/state/gate_process.hpp"
#include "hooks/state/process.hpp"
#include "hooks/verbs.hpp"
#include "schema/file_identity.hpp"
#include "schema/rules/always_denied.hpp"
#include "schema/rules/denied_set.hpp"
#include "schema/unique_fd.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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
        confined.notes.push_back("what was denied is not known: " + noted.error().what);
    if (record != found)
        (void)state.write(record); // if this fails, the next write saves it; the table matters more
}

std::vector<rules::Prefix> guests_of(const Record& record)
{
    return record.network.value_or(rules::Network()).guest;
}

enum class Scope : std::uint8_t {
    tables,     // only the tables
    links,      // the tables and links; others of the pod may listen
    everything, // the tables, links and listeners
};

struct Look {
    Scope scope = Scope::everything;
    const state::Deadline& deadline;
    KeptHost* kept = nullptr; // of who looks at many runs in a row
    Look at(Scope other) const { return {other, deadline, kept}; }
};

// Brings the record, and the host's rules, up to date with changed addresses. The record is written
// first: it must name the guests before the host's rules do.
Status follow_changes(const state::StateDir& state, Record& record, net::Conversations& inside,
                      const Look& look, Confinement& confined)
{
    std::vector<rules::Prefix> before = guests_of(record);
    AH_TRY(const bool changed, look_again(record, inside, look.deadline, look.kept));
    if (!changed)
        return {};
    confined.notes.emplace_back("the host's or the container's addresses changed, and the rules "
                                "with them");
    AH_CHECK(state.write(record));
    const std::vector<rules::Prefix> now = guests_of(record);
    std::erase_if(before, [&now](const rules::Prefix& address) {
        return std::ranges::find(now, address) != now.end();
    });
    return before.empty() ? Status()
                          : nft::drop_guests(state, record, std::move(before), look.deadline);
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

// Loads those tables of an enforced run again, inside and at the host, that do not stand any more.
Status restore_rules(const state::StateDir& state, Record& record, net::Conversations& inside,
                     const state::Deadline& deadline, Confinement& confined)
{
    const bool stood = claims(record, verified::drop_table);
    AH_CHECK(ensure_table(inside, inside_plan(record), Moment::starting, stood, confined));
    if (confined.loaded) {
        rules::begin_denied_anew(record);
        if (const auto ended = end_closed_connections(record, inside); !ended)
            confined.notes.push_back("what stood open before may still be: " + ended.error().what);
    }
    if (!record.network || record.gate)
        return {}; // a gate's run has nothing in the host's tables
    AH_TRY(const nft::HostRulesFound held, nft::restore_host_rules(state, record, deadline));
    if (held == nft::HostRulesFound::restored)
        confined.notes.emplace_back("the host's rules for this run were gone, and were restored");
    return {};
}

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
                     const Look& look);

Status confine_pod_again(const state::StateDir& state, const Record& member, const Look& look)
{
    AH_TRY(const Holder holder, holder_of(member));
    AH_TRY(const auto record, state.read(holder.key));
    if (!record || record->generation != holder.generation || !state::is_alive(record->init)) {
        // The sandbox ended first. The table that holds its network stays and is never loosened.
        if (look.scope == Scope::tables)
            return {};
        return fail(Code::network_setup_failed, "the sandbox of its pod is gone");
    }
    return confine_again(state, holder.key, holder.generation,
                         look.scope == Scope::tables ? look : look.at(Scope::links));
}

// Starts a gate that is gone again, from gc. A container that was not started yet is refused: its
// engine can make it anew.
Status look_at_gate(const state::StateDir& state, Record& record, const net::Netns& netns,
                    net::Conversations& inside, const Look& look)
{
    if (look.scope == Scope::tables)
        return restart_gate(state, record, netns, inside, look.deadline);
    AH_CHECK(note_lost_gate(state, record));
    return state::has_lost_gate(record) ? fail(Code::network_setup_failed, "its gate is gone")
                                        : Status();
}

Status confine_again(const state::StateDir& state, const RunKey& key, std::string_view generation,
                     const Look& look)
{
    const Scope scope = look.scope;
    const state::Deadline& deadline = look.deadline;
    AH_TRY(const state::RunLock lock, state::RunLock::take(state, key, deadline.left()));
    AH_TRY(auto record, enforced_record(state, key, generation));
    if (record.posture == Posture::open)
        return {};
    AH_TRY(const FileIdentity here, state::namespace_of(0, "net"));
    if (scope == Scope::tables && record.network && record.host_netns != here)
        return {}; // the run's host rules are in another namespace; gc over there restores them
    AH_TRY(const net::Netns netns, same_namespace(record));
    if (record.technique == Technique::pod)
        return confine_pod_again(state, record, look);
    AH_TRY(auto inside, net::talk_inside(netns, deadline));
    const Record found = record;
    Confinement confined;
    keep_denied(state, record, inside, confined);
    AH_CHECK(follow_changes(state, record, inside, look, confined));
    AH_CHECK(restore_rules(state, record, inside, deadline, confined));
    AH_CHECK(look_at_gate(state, record, netns, inside, look));
    if (scope != Scope::tables) {
        const Moment moment = scope == Scope::links ? Moment::joining : Moment::starting;
        AH_CHECK(check_link(record, inside, deadline, &confined.notes));
        AH_CHECK(empty_out(inside, inside_plan(record), moment, deadline, confined));
    }
    add_news(record, confined);
    return record == found ? Status() : state.write(record);
}

constexpr std::chrono::seconds patience_for_ending(1);
constexpr std::size_t most_workers = 8;
constexpr std::size_t longest_held = 500;
constexpr std::size_t most_said = std::size_t{1} << 20; // bytes

// Says whether a run that was enforced a moment ago is over.
bool has_ended(const state::StateDir& state, const Record& before)
{
    const auto key = RunKey::parse(before.key);
    if (!key)
        return false;
    const auto read = state.read(*key);
    if (!read)
        return false;
    const std::optional<Record>& now = *read;
    if (!now || now->generation != before.generation || now->state != RunState::enforced)
        return true;
    const auto lives = state::look_for(now->init, now->boot_id, now->host_pidns, now->created);
    if (!lives || *lives != state::Lives::yes)
        return lives && *lives == state::Lives::no;
    // A process that is ending gives up its namespaces a moment before it is gone.
    const auto netns = state::namespace_of(static_cast<pid_t>(now->init.pid), "net");
    const bool ending = !netns && (netns.error().number == ENOENT || netns.error().number == ESRCH);
    return ending && state::is_gone_within(now->init, patience_for_ending);
}

// Returns the line about a run that does not hold, or nothing.
std::string line_of_held(const state::StateDir& state, const RunKey& key,
                         std::chrono::milliseconds patience, KeptHost& kept)
{
    const auto read = state.read(key);
    const auto record = read ? *read : std::nullopt;
    if (!record || !record->network || record->state != RunState::enforced)
        return "";
    const state::Deadline deadline(patience);
    const auto held =
        confine_again(state, key, record->generation, {Scope::tables, deadline, &kept});
    if (held || has_ended(state, *record))
        return "";
    return printable(key.text() + ": " + held.error().what, longest_held) + "\n";
}

// Does the work in a few processes at once, and returns what they say. Most of the time goes by in
// waiting for grace periods of the kernel, and those that wait at the same time wait for the same
// one. A share whose process cannot be started is done here.
template <typename Share> Result<std::string> in_workers(Share share)
{
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        return fail_errno("make a pipe", errno);
    const UniqueFd reading(ends[0]);
    UniqueFd writing(ends[1]);
    std::string said;
    std::vector<pid_t> workers;
    for (std::size_t worker = 0; worker < most_workers; ++worker) {
        const pid_t child = ::fork();
        if (child == 0) {
            (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
            const std::string lines = share(worker, most_workers);
            ::_exit(::write(writing.get(), lines.data(), lines.size()) ==
                            static_cast<ssize_t>(lines.size())
                        ? 0
                        : 1);
        }
        if (child > 0)
            workers.push_back(child);
        else
            said += share(worker, most_workers);
    }
    writing = UniqueFd();
    AH_TRY(const std::string heard, files::read_all(reading.get(), most_said, "the workers' pipe"));
    for (const pid_t worker : workers) {
        int status = 0;
        if (::waitpid(worker, &status, 0) == worker && status != 0)
            said += "some live runs were not looked at\n";
    }
    return said + heard;
}

} // namespace

Result<Record> confine_pod_network(const state::StateDir& state, const Record& member,
                                   const FileIdentity& netns, const state::Deadline& deadline)
{
    AH_TRY(const Holder holder, holder_of(member));
    AH_CHECK(confine_again(state, holder.key, holder.generation, {Scope::links, deadline}),
             "the pod's network");
    AH_TRY(auto record, enforced_record(state, holder.key, holder.generation), "the pod's network");
    if (record.netns != netns || !state::is_alive(record.init)) {
        return fail(Code::network_setup_failed,
                    "the container is not in the network namespace of its pod");
    }
    return record;
}

Status check_before_start(const state::StateDir& state, const RunKey& key,
                          std::string_view generation, const state::Deadline& deadline)
{
    return confine_again(state, key, generation, {Scope::everything, deadline});
}

Status restore_tables(const state::StateDir& state, const RunKey& key, std::string_view generation,
                      const state::Deadline& deadline)
{
    return confine_again(state, key, generation, {Scope::tables, deadline});
}

Result<std::vector<std::string>> hold_all(const state::StateDir& state,
                                          std::chrono::milliseconds patience_for_each)
{
    AH_TRY(const auto keys, state.runs());
    const auto share = [&](std::size_t worker, std::size_t workers) {
        std::string lines;
        KeptHost kept;
        for (std::size_t at = worker; at < keys.size(); at += workers)
            lines += line_of_held(state, keys[at], patience_for_each, kept);
        return lines;
    };
    const bool alone = keys.size() < most_workers;
    AH_TRY(const std::string text, alone ? Result<std::string>(share(0, 1)) : in_workers(share));
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

} // namespace anchorhold
