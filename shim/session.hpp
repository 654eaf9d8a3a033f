// SPDX-License-Identifier: Apache-2.0
// One call of the shim after its command line was read: where things are, and the verbs that are
// not passed through untouched. Each verb returns the exit status, or the error to report.
#pragma once

#include "hooks/state/state_dir.hpp"
#include "schema/policy.hpp"
#include "shim/words/command_line.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace anchorhold {

struct Session {
    OwnOptions own;
    std::vector<std::string> rest;
    Invocation invocation;
    std::optional<std::string> argv0_profile; // "ci" when called as anchorhold-ci
    std::string policy_path;
    // An Error when nothing may be created: the file is broken, or an option of ours was wrong.
    Result<Policy> policy = Policy();
    std::string delegate;          // empty: `obstacle` says why there is none
    std::optional<Error> obstacle; // of everything but our own subcommands
    std::string state_path;        // empty: there is no place for state, so nothing is created
    std::string root;              // resolved; of --root or the delegate's default
};

// Reads the command line and the policy, finds the delegate. With a broken policy the delegate is
// the one of --ah-runtime, else of the run that a word names, else of the default search.
Session open_session(std::span<const char* const> argv);

// Carries out one command line: a verb of ours below, or the delegate in our place.
Result<int> carry_out(const Session& session);

Result<int> create_or_run(const Session& session);    // create.cpp
Result<int> start_container(const Session& session);  // start.cpp
Result<int> exec_process(const Session& session);     // exec.cpp
Result<int> delete_container(const Session& session); // delete.cpp

// "ci" of "/usr/bin/anchorhold-ci"; nothing for the names of our own programs.
std::optional<std::string> profile_in_name(std::string_view argv0);

struct RootFacts { // what a delegate's default root hangs on
    bool euid_0 = false;
    bool initial_user_namespace = true;
    std::optional<std::string> xdg_runtime_dir, user;
};
// runc, main.go and rootless_linux.go: /run/runc for root (but not for a root that a user namespace
// made of USER), else below XDG_RUNTIME_DIR. crun, status.c: below XDG_RUNTIME_DIR whoever asks.
std::string default_root(Flavour flavour, const RootFacts& facts);

// The run that the command line names, if it is one of ours. With an option that is not known any
// word may be the id.
struct OwnRun {
    StateDir state;
    RunKey key;
    Record record;
};
Result<std::optional<OwnRun>> find_own_run(const Session& session);

// Does the container still wait for its start? Both runtimes keep exec.fifo until then (runc,
// libcontainer/container_linux.go; crun, status.c).
bool waits_to_start(const Session& session);
// `delete --force` with the engine's own global options, but for its log; once more if that fails
// (a cgroup that is still busy). What is left over then is gc's and the engine's: false.
bool delete_by_force(const Session& session);

} // namespace anchorhold
