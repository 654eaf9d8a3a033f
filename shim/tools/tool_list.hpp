// SPDX-License-Identifier: Apache-2.0
// The tools in the table of tools.cpp. Each appends to `output` what is printed on stdout, for a
// person or with --json for a program, and returns the exit status.
#pragma once

#include "shim/tools/tools.hpp"

#include <optional>
#include <string>
#include <vector>

namespace anchorhold::tools {

// The arguments of a tool.
struct ToolCall {
    bool json = false;
    bool dry_run = false;
    bool ended = false;
    bool all = false;
    bool write = false;
    bool remove = false;
    std::string bundle;                // empty: the working directory
    std::string from;                  // empty: not given
    std::string config;                // of an engine; empty: the engine's own default
    std::vector<std::string> profiles; // empty: not given
    std::vector<std::string> operands;
};

// Asks every probe again, resolves every profile and looks at every engine that can be found. 1: a
// probe says no, the policy, a profile or the runtime is broken, or an engine is told of us
// wrongly.
Result<int> tool_doctor(const Session& session, const ToolCall& call, ToolOutput& output);
// Shows the decision and the plan for a bundle. Changes nothing but the cache of the probes.
Result<int> tool_explain(const Session& session, const ToolCall& call, ToolOutput& output);
// Lists the live runs, or with --ended the runs that ended or were refused; with --all those of
// rootless engines too.
Result<int> tool_runs(const Session& session, const ToolCall& call, ToolOutput& output);
// Shows the record of a run, live or ended.
Result<int> tool_show(const Session& session, const ToolCall& call, ToolOutput& output);
// Lists what a run tried and was denied; for a live run, as the kernel has it now.
Result<int> tool_denials(const Session& session, const ToolCall& call, ToolOutput& output);
// Says whether a destination is reachable for a bundle's run, or for one of the policy's default
// profile. Returns 0 for yes, 1 for no.
Result<int> tool_check(const Session& session, const ToolCall& call, ToolOutput& output);
// Prints another system's network rules as a policy. Each thing that was lost has a line on stderr.
Result<int> tool_import(const Session& session, const ToolCall& call, ToolOutput& output);
// Says whether an engine's configuration leads to us and whether a throw-away container leaves its
// record. Returns 0 for yes, 1 for no.
Result<int> tool_verify(const Session& session, const ToolCall& call, ToolOutput& output);

// Shows what an engine would be told of us, or with --write tells it, or with --remove takes it
// back. Restarts nothing.
Result<int> tool_setup(const Session& session, const ToolCall& call, ToolOutput& output);

// Names each fault of the installed policy, or of one file. Returns 0 when there is none.
Result<int> tool_policy(const Session& session, const ToolCall& call, ToolOutput& output);

// Serves as podman's precreate hook: reads a config.json on stdin and prints the edited one on
// stdout.
Result<int> tool_precreate(const Session& session, const ToolCall& call, ToolOutput& output);

// A run on record.
struct Found {
    std::optional<state::StateDir> state; // absent when only the kept record is there
    Record record;
    bool live = false; // it is in runs/, not in ended/
};
// Returns the run that a tool's operand names by id, key or KEY.GENERATION, or by a prefix that
// only one run has; without an operand the run that was made last. Refuses (invalid_request) a name
// that no run or several runs have. `output` gets a remark where kept records cannot be read.
Result<Found> find_run(const Session& session, const ToolCall& call, ToolOutput& output);

} // namespace anchorhold::tools
