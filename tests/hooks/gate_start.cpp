// SPDX-License-Identifier: Apache-2.0
// A program for integration/gate/start.py: confines the network namespace of a process, and starts
// a gate for it, in the steps of anchorhold-hook up:
//   gate-start PID RULES-FILE REPORT-FILE GATE KEY [PORT...]
// With "-" as its key the gate stays the user that starts it.
#include "hooks/confine.hpp"
#include "hooks/gate.hpp"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <string>

using namespace anchorhold;

namespace {

Result<ProcessIdentity> act(const net::Netns& netns, const GateStart& start)
{
    const state::Deadline deadline(std::chrono::seconds(20));
    AH_TRY(const rules::GateRules rules, rules::read_gate_rules(start.rules));
    const nft::InsidePlan plan{Posture::filtered, rules::gate_network(rules), 0, rules.handles};
    AH_TRY(auto inside, net::talk_inside(netns, deadline));
    Confinement confined;
    AH_CHECK(ensure_table(inside, plan, Moment::created, true, confined));
    AH_CHECK(empty_out(inside, plan, Moment::created, deadline, confined));
    return start_gate(netns, inside, start, deadline);
}

} // namespace

int main(int count, char** arguments)
{
    if (count < 6)
        return 2;
    std::ifstream file(arguments[2]);
    const UniqueFd report(::open(arguments[3], O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    GateStart start{.program = arguments[4],
                    .rules = {std::istreambuf_iterator<char>(file), {}},
                    .report = report.get(),
                    .listen = {},
                    .user = {}};
    if (arguments[5] != std::string("-"))
        start.user = gate_user(arguments[5]);
    for (int i = 6; i < count; ++i)
        start.listen.push_back(static_cast<std::uint16_t>(std::atoi(arguments[i])));
    const auto netns = net::netns_of(std::atoi(arguments[1]));
    const auto started =
        netns ? act(*netns, start) : Result<ProcessIdentity>(std::unexpected(netns.error()));
    if (!started) {
        std::fprintf(stderr, "%s\n", started.error().what.c_str());
        return 1;
    }
    std::printf("%d\n", static_cast<int>(started->pid));
    return 0;
}
