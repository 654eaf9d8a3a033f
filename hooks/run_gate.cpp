// SPDX-License-Identifier: Apache-2.0
#include "hooks/run_gate.hpp"

#include "hooks/files/whole_file.hpp"
#include "hooks/gate.hpp"
#include "hooks/network.hpp"
#include "hooks/state/gate_process.hpp"
#include "hooks/state/gate_program.hpp"

#include <charconv>
#include <ctime>
#include <unistd.h>

namespace anchorhold {
namespace {

// Says whether every user number exists here. In the user namespace of a rootless engine few do.
bool has_every_user()
{
    constexpr std::string_view all = "4294967295";
    const auto map = files::read_file("/proc/self/uid_map", 4096);
    return map && *map && (*map)->ends_with(" " + std::string(all) + "\n");
}

Status start_run_gate(const state::StateDir& state, Record& record, const net::Netns& netns,
                      net::Conversations& inside, bool again, const state::Deadline& deadline)
{
    RunGate& gate = *record.gate;
    AH_TRY(std::string program, state::find_own_gate(), "start the gate");
    AH_TRY(const UniqueFd report, state::make_gate_report(state, record));
    GateStart start{.program = std::move(program),
                    .rules = rules::to_json(gate.rules),
                    .report = report.get(),
                    .listen = gate_ports(record),
                    .user = {},
                    .again = again};
    if (::geteuid() == 0 && has_every_user())
        start.user = gate_user(record.key);
    AH_TRY(gate.process, start_gate(netns, inside, start, deadline), "start the gate");
    gate.lost = 0;
    record.verified.emplace_back(verified::gate);
    return {};
}

} // namespace

Status plant_gate(const state::StateDir& state, Record& record, const net::Netns& netns,
                  net::Conversations& inside, const state::Deadline& deadline)
{
    // For what was denied at the end. A rootless engine may have no mounts of its own.
    if (const auto kept = keep_netns(state, record, netns); !kept && ::geteuid() == 0)
        record.advice.push_back("connections denied at the very end are not counted: " +
                                kept.error().what);
    return start_run_gate(state, record, netns, inside, false, deadline);
}

Status note_lost_gate(const state::StateDir& state, Record& record)
{
    if (!state::has_lost_gate(record))
        return {};
    std::erase(record.verified, verified::gate);
    if (record.gate->lost == 0)
        record.gate->lost = std::time(nullptr);
    return state.write(record);
}

Status restart_gate(const state::StateDir& state, Record& record, const net::Netns& netns,
                    net::Conversations& inside, const state::Deadline& deadline)
{
    if (!state::has_lost_gate(record))
        return {};
    AH_CHECK(note_lost_gate(state, record));
    std::uint32_t& epoch = record.gate->rules.epoch;
    if (epoch + 1 >= rules::most_epochs) {
        return fail(Code::network_setup_failed,
                    "its gate is gone and was started again " + std::to_string(epoch) +
                        " times already; the container reaches nothing more");
    }
    ++epoch;
    record.gate->process = {};
    AH_CHECK(state.write(record)); // before the gate gives out handles of this epoch
    AH_CHECK(start_run_gate(state, record, netns, inside, true, deadline));
    return state.write(record);
}

} // namespace anchorhold
