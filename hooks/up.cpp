// SPDX-License-Identifier: Apache-2.0
// The order is the proof: whose call this is, whose namespace that is, then the namespace itself,
// then the word inside it that the relay waits for, and last the record that says enforced. Killed
// anywhere in between, the record is still a planned one and its creator's to take back.
#include "hooks/confine.hpp"
#include "hooks/mounted.hpp"
#include "hooks/network.hpp"
#include "hooks/reach_probe.hpp"
#include "hooks/state/files.hpp"
#include "hooks/state/original.hpp"
#include "hooks/state/process.hpp"
#include "hooks/unplug.hpp"
#include "hooks/verbs.hpp"
#include "schema/file_identity.hpp"

#include <cerrno>
#include <cstdlib>
#include <unistd.h>

namespace anchorhold {
namespace {

std::string enforced_path(const state::StateDir& state, const RunKey& key)
{
    return state.inside_path(key) + "/enforced";
}

// Are we where the shim was, and is it still there to hear how this ends?
Status check_caller(const Record& record)
{
    AH_TRY(const std::string boot, state::boot_id());
    AH_TRY(const FileIdentity net, state::namespace_of(0, "net"));
    AH_TRY(const FileIdentity pid, state::namespace_of(0, "pid"));
    if (record.boot_id != boot || record.host_pidns != pid || record.host_netns != net) {
        return fail(Code::network_setup_failed,
                    "the runtime runs its hooks in other namespaces than it was started in");
    }
    if (!state::is_alive(record.creator)) {
        return fail(Code::network_setup_failed,
                    "the process that asked for this container is gone");
    }
    return {};
}

// Only where no table can tell: a table of ours in the namespace says it at once, and reading a
// thousand records does not.
Status check_nobody_elses(const state::StateDir& state, const Record& record,
                          const FileIdentity& netns)
{
    AH_TRY(const auto living, state.living_in(netns));
    for (const Record& other : living) {
        const bool both_open = other.posture == Posture::open && record.posture == Posture::open;
        if (!both_open && other.key != record.key) {
            return fail(Code::network_setup_failed,
                        "the container's network namespace is that of run " + other.key);
        }
    }
    return {};
}

void take_over(const Confinement& confined, Record& record)
{
    record.verified.insert(record.verified.end(), confined.verified.begin(),
                           confined.verified.end());
    record.advice.insert(record.advice.end(), confined.notes.begin(), confined.notes.end());
}

Status empty_namespace(const state::StateDir& state, const net::Netns& netns, Record& record,
                       const state::Deadline& deadline)
{
    Confinement confined;
    AH_TRY(auto inside, net::talk_inside(netns, deadline));
    const nft::InsidePlan plan = inside_plan(record);
    AH_CHECK(hold_table(inside, plan, Moment::created, false, confined));
    if (!confined.has(verified::drop_table))
        AH_CHECK(check_nobody_elses(state, record, netns.identity));
    AH_CHECK(empty_out(inside, plan, Moment::created, deadline, confined));
    take_over(confined, record);
    return {};
}

// Rules before links, everywhere; then the links, and what the kernel says of it all.
Status connect_namespace(const state::StateDir& state, const net::Netns& netns, Record& record,
                         const state::Deadline& deadline)
{
    Confinement confined;
    AH_TRY(auto inside, net::talk_inside(netns, deadline));
    AH_CHECK(plug_in(state, record, netns, inside, deadline));
    const nft::InsidePlan plan = inside_plan(record);
    AH_CHECK(hold_table(inside, plan, Moment::created, true, confined));
    AH_CHECK(empty_out(inside, plan, Moment::created, deadline, confined));
    AH_CHECK(open_link(record, inside, deadline));
    auto probed = probe_brokers(record, netns, deadline);
    if (probed)
        probed = probe_forwarding(record, netns, deadline);
    // The better reason of the two, unless there was no time left to find it.
    const auto held = check_link(record, inside, deadline, nullptr);
    if (!held && (probed || held.error().number != ETIMEDOUT))
        return held;
    AH_CHECK(probed);
    confined.verified.emplace_back(verified::host_rules);
    if (record.technique == Technique::veth)
        confined.verified.emplace_back(verified::route);
    take_over(confined, record);
    return {};
}

// Nothing is made: what the sandbox's run verified holds here too.
Status join_pod(const state::StateDir& state, const net::Netns& netns, Record& record,
                const state::Deadline& deadline)
{
    AH_TRY(const Record holder, hold_pod(state, record, netns.identity, deadline));
    for (const std::string& word : holder.verified) {
        const bool held = word == verified::drop_table || word == verified::links ||
                          word == verified::host_rules || word == verified::route;
        if (held)
            record.verified.push_back(word);
    }
    return {};
}

Status apply(const state::StateDir& state, Record& record, const state::ContainerState& told,
             const state::Deadline& deadline)
{
    AH_CHECK(check_caller(record));
    if (told.id != record.id) {
        return fail(Code::network_setup_failed,
                    "the runtime calls this container " + in_quotes(told.id));
    }
    if (told.pid == 0)
        return fail(Code::network_setup_failed, "the runtime names no process of the container");
    AH_TRY(const net::Netns netns, net::netns_of(told.pid));
    if (netns.identity == record.host_netns)
        return fail(Code::network_setup_failed, "the container is in the host's network namespace");
    record.init = netns.init;
    record.netns = netns.identity;
    record.verified.emplace_back(verified::netns);
    AH_CHECK(check_mounted(told.pid, record.sources));
    if (!record.sources.empty() && record.sources.front().destination == "/") // else not compared
        record.verified.emplace_back(verified::sources);
    if (record.technique == Technique::pod)
        return join_pod(state, netns, record, deadline);
    switch (record.posture) {
    case Posture::severed:
    case Posture::relayed: return empty_namespace(state, netns, record, deadline);
    case Posture::open: return check_nobody_elses(state, record, netns.identity);
    case Posture::sealed:
    case Posture::filtered: return connect_namespace(state, netns, record, deadline);
    }
    std::abort(); // a byte that is no Posture
}

// What the relay waits for: the generation, and where the host's end is if there is one.
std::string enforced_text(const Record& record)
{
    std::string text = record.generation + "\n";
    if (record.network && record.network->subnet)
        text += record.network->subnet->gateway_text() + "\n";
    return text;
}

Status publish(const state::StateDir& state, const RunKey& key, Record& record)
{
    AH_CHECK(state::replace_file(enforced_path(state, key), enforced_text(record), 0444));
    // The runtime has read config.json by now. Left edited, it is put back at teardown.
    if (const auto done = state::put_back(state, record); !done)
        record.advice.push_back("config.json still holds our edits: " + done.error().what);
    record.state = RunState::enforced;
    return state.write(record);
}

// What is in the namespace stays: it only tightens, and dies with it. What is outside goes at once;
// the shim's teardown asks again.
void undo(const state::StateDir& state, const RunKey& key, Record record, const Error& error)
{
    if (record.network)
        (void)unplug(state, record);
    (void)::unlink(enforced_path(state, key).c_str()); // usually not there yet
    record.state = RunState::failed;
    record.code = name_of(error.code);
    record.reason = error.what;
    (void)state.write(record); // the reason is also on standard error
}

} // namespace

Status up(const state::StateDir& state, const RunKey& key, std::string_view generation,
          const Result<state::ContainerState>& told, const state::Deadline& deadline)
{
    AH_TRY(const state::RunLock lock, state::RunLock::take(state, key, deadline.left()));
    AH_TRY(const auto planned, state.read(key));
    if (!planned || planned->generation != generation || planned->state != RunState::planned)
        return fail(Code::network_setup_failed, "no such run is planned");
    Record record = *planned;
    auto done =
        told ? apply(state, record, *told, deadline) : Status(std::unexpected(told.error()));
    if (done)
        done = publish(state, key, record);
    if (!done) {
        Record undone = *planned;
        undone.network = record.network; // as far as it came
        undo(state, key, std::move(undone), done.error());
    }
    return done;
}

} // namespace anchorhold
