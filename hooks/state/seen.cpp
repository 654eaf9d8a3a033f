// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/seen.hpp"

#include "hooks/state/gate_process.hpp"
#include "hooks/state/process.hpp"

#include <ctime>
#include <net/if.h>

namespace anchorhold::state {
namespace {

constexpr std::string_view gate_gone = "its gate is gone, so all is closed";

std::string of_the_dead(const Record& record)
{
    const auto boot = boot_id();
    if (boot && *boot != record.boot_id)
        return "the host was started anew";
    return record.state == RunState::enforced ? "its first process is gone"
                                              : "the process that created it is gone";
}

// Looks at the host's end of a run's link. A link of the same name may be another one.
std::string look_at_link(const Record& record)
{
    const auto here = namespace_of(0, "net");
    if (!here || *here != record.host_netns)
        return "its link is in another network namespace, and cannot be looked at from here";
    const unsigned index = ::if_nametoindex(rules::link_name(record.key).c_str());
    if (index == 0)
        return "its link is gone";
    if (record.network->link != 0 && index != record.network->link)
        return "its link was replaced";
    return std::string(as_recorded);
}

std::string look_at_network(const Record& record)
{
    const auto netns = namespace_of(static_cast<pid_t>(record.init.pid), "net");
    if (!netns)
        return "its network namespace cannot be looked at";
    if (record.netns && *netns != *record.netns)
        return "its first process is in another network namespace";
    if (has_lost_gate(record))
        return std::string(gate_gone);
    if (record.network && record.technique == Technique::veth)
        return look_at_link(record);
    return std::string(as_recorded);
}

} // namespace

std::string look_at_run(const Record& record)
{
    const bool enforced = record.state == RunState::enforced;
    const auto lives = look_for(enforced ? record.init : record.creator, record.boot_id,
                                record.host_pidns, record.created);
    if (!lives)
        return lives.error().what;
    switch (*lives) {
    case Lives::no: return of_the_dead(record);
    case Lives::unknown:
        return "it was made in another pid namespace, and cannot be looked at from here";
    case Lives::yes: break;
    }
    return enforced ? look_at_network(record) : std::string(as_recorded);
}

void note_seen(Record& record)
{
    if (record.state == RunState::ended)
        return;
    record.seen = look_at_run(record);
    if (record.seen == gate_gone && record.gate->lost == 0)
        record.gate->lost = std::time(nullptr);
    record.seen_at = std::time(nullptr);
}

} // namespace anchorhold::state
