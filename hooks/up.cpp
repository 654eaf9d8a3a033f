// SPDX-License-Identifier: Apache-2.0
// Makes a planned run an enforced one. The order matters:
//
// 1. Who calls: the record must be planned, the hook must be in the shim's namespaces, and the shim
//    must live (check_caller).
// 2. Whose namespace: the container's network namespace must not be the host's.
// 3. The mounts must be what the shim looked at (check_mounted).
// 4. The network: the namespace is emptied (severed, relayed), connected (sealed, filtered), joined
//    (a pod's container), or only compared with other runs' (open). Where a gate serves, it is
//    emptied, and then the gate is started and asked from inside.
// 5. The file `enforced` is written into inside/. The relay waits for it.
// 6. The original config.json is put back.
// 7. The record is written as enforced.
//
// If the hook is killed at any step, the record still is a planned one, and its creator tears the
// run down. If a step fails, undo() does so at once.
#include "hooks/confine.hpp"
#include "hooks/files/whole_file.hpp"
#include "hooks/mounted.hpp"
#include "hooks/net/local_routes.hpp"
#include "hooks/network.hpp"
#include "hooks/reach_probe.hpp"
#include "hooks/run_gate.hpp"
#include "hooks/state/gate_process.hpp"
#include "hooks/state/original.hpp"
#include "hooks/state/process.hpp"
#include "hooks/unplug.hpp"
#include "hooks/verbs.hpp"
#include "schema/file_identity.hpp"
#include "schema/rules/gate_rules.hpp"

#include <cerrno>
#include <cstdlib>
#include <unistd.h>

namespace anchorhold {
namespace {

std::string enforced_path(const state::StateDir& state, const RunKey& key)
{
    return state.inside_path(key) + "/enforced";
}

// Refuses a call from other namespaces than the shim's, or when the shim is gone: nobody would hear
// how this ends.
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

// Refuses a namespace that another living run has. Asked only where no table of ours stands: a
// table says it at once, but reading a thousand records takes time.
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
    AH_CHECK(ensure_table(inside, plan, Moment::created, false, confined));
    if (!confined.has(verified::drop_table))
        AH_CHECK(check_nobody_elses(state, record, netns.identity));
    AH_CHECK(empty_out(inside, plan, Moment::created, deadline, confined));
    // For look-ups of programs inside. It confines nothing, so it may fail.
    const net::Step address = net::give_lo_an_address(rules::GateRules::default_handles());
    (void)inside.route.send({&address, 1});
    take_over(confined, record);
    return {};
}

// Connects the run: first the rules on both sides, then the links, then the probes. The steps are
// explained in network.cpp.
Status connect_namespace(const state::StateDir& state, const net::Netns& netns, Record& record,
                         const state::Deadline& deadline)
{
    Confinement confined;
    AH_TRY(auto inside, net::talk_inside(netns, deadline));
    AH_CHECK(plug_in(state, record, netns, inside, deadline));
    const nft::InsidePlan plan = inside_plan(record);
    AH_CHECK(ensure_table(inside, plan, Moment::created, true, confined));
    AH_CHECK(empty_out(inside, plan, Moment::created, deadline, confined));
    AH_CHECK(open_link(record, inside, deadline));
    auto probed = probe_brokers(record, netns, deadline);
    if (probed)
        probed = probe_forwarding(record, netns, deadline);
    // A changed link is the better reason why a probe failed, unless there was no time to look.
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

// Gives the run a gate. What it needs inside stands before it is started.
Status serve_namespace(const state::StateDir& state, const net::Netns& netns, Record& record,
                       const state::Deadline& deadline)
{
    if (!record.gate || !record.network)
        return fail(Code::network_setup_failed, "the record names no gate");
    Confinement confined;
    AH_TRY(auto inside, net::talk_inside(netns, deadline));
    const nft::InsidePlan plan = inside_plan(record);
    AH_CHECK(ensure_table(inside, plan, Moment::created, true, confined));
    AH_CHECK(empty_out(inside, plan, Moment::created, deadline, confined));
    take_over(confined, record);
    return plant_gate(state, record, netns, inside, deadline);
}

// Joins the pod's network. Makes nothing: what was verified for the sandbox's run holds here too.
Status join_pod(const state::StateDir& state, const net::Netns& netns, Record& record,
                const state::Deadline& deadline)
{
    AH_TRY(const Record holder, confine_pod_network(state, record, netns.identity, deadline));
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
    // Without the root as the first source, check_mounted() compares nothing.
    if (!record.sources.empty() && record.sources.front().destination == "/")
        record.verified.emplace_back(verified::sources);
    if (record.technique == Technique::pod)
        return join_pod(state, netns, record, deadline);
    if (record.technique == Technique::gate)
        return serve_namespace(state, netns, record, deadline);
    switch (record.posture) {
    case Posture::severed:
    case Posture::relayed: return empty_namespace(state, netns, record, deadline);
    case Posture::open: return check_nobody_elses(state, record, netns.identity);
    case Posture::sealed:
    case Posture::filtered: return connect_namespace(state, netns, record, deadline);
    }
    std::abort(); // this byte is no Posture
}

// Returns the text that the relay waits for: the generation, and the address of the host's end if
// there is one.
std::string enforced_text(const Record& record)
{
    std::string text = record.generation + "\n";
    if (record.network && record.network->subnet)
        text += record.network->subnet->gateway_text() + "\n";
    return text;
}

Status publish(const state::StateDir& state, const RunKey& key, Record& record)
{
    AH_CHECK(files::replace_file(enforced_path(state, key), enforced_text(record), 0444));
    // The runtime has read config.json by now. If this fails, teardown puts it back.
    if (const auto done = state::put_back(state, record); !done)
        record.advice.push_back("config.json still holds our edits: " + done.error().what);
    record.state = RunState::enforced;
    return state.write(record);
}

// Takes back what was done outside the namespace, and writes the reason into the record. What is
// inside stays: it only tightens, and dies with the namespace. The shim's teardown tries again.
void undo(const state::StateDir& state, const RunKey& key, Record record, const Error& error)
{
    if (record.gate)
        (void)state::end_gate(record.gate->process, {});
    if (record.network)
        (void)unplug(state, record);
    (void)::unlink(enforced_path(state, key).c_str()); // usually it is not there yet
    record.state = RunState::failed;
    record.code = name_of(error.code);
    record.reason = error.what;
    (void)state.write(record); // if this fails, the reason still is on standard error
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
        undone.network = record.network; // what was made of the network so far
        undone.gate = record.gate;
        undo(state, key, std::move(undone), done.error());
    }
    return done;
}

} // namespace anchorhold
