// SPDX-License-Identifier: Apache-2.0
// The tools behind tools.cpp's table. Each appends to `output` what a person, or with --json a
// program, reads on stdout, and returns the exit status.
#pragma once

#include "shim/tools/tools.hpp"

#include <string>
#include <vector>

namespace anchorhold::tools {

struct ToolCall {
    bool json = false;
    bool dry_run = false;
    std::string bundle; // empty: the cwd
    std::string from;   // empty: not said
    std::string config; // of an engine; empty: where it usually is
    std::vector<std::string> operands;
};

// Asks every probe again and looks at every engine that can be found. 1: a probe says no, the
// policy or the runtime is broken, or an engine is told of us wrongly.
Result<int> tool_doctor(const Session& session, const ToolCall& call, ToolOutput& output);
// The decision and the plan for a bundle; nothing is touched but the cache of the probes.
Result<int> tool_explain(const Session& session, const ToolCall& call, ToolOutput& output);
Result<int> tool_runs(const Session& session, const ToolCall& call, ToolOutput& output);
Result<int> tool_show(const Session& session, const ToolCall& call, ToolOutput& output);
// What a run tried and was refused; of a live one as the kernel has it now.
Result<int> tool_denials(const Session& session, const ToolCall& call, ToolOutput& output);
// Would a bundle's run, or one of the policy's default profile, reach a destination? 0: yes, 1: no.
Result<int> tool_check(const Session& session, const ToolCall& call, ToolOutput& output);
// Another system's network rules as a policy; on stderr a line for each thing that was lost.
Result<int> tool_import(const Session& session, const ToolCall& call, ToolOutput& output);
// Does an engine's configuration lead to us, and does a throw-away container leave its record? 0:
// yes, 1: no.
Result<int> tool_verify(const Session& session, const ToolCall& call, ToolOutput& output);

// podman's hook of that stage: config.json on stdin, the edited one on stdout.
Result<int> tool_precreate(const Session& session, const ToolCall& call, ToolOutput& output);

struct Found {
    state::StateDir state;
    Record record;
    bool live = false; // in runs/, not in ended/
};
// The run of that id or key, or of a prefix only one has; refused when there is none.
Result<Found> find_run(const Session& session, const std::string& name);

} // namespace anchorhold::tools
