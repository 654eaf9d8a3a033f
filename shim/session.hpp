// SPDX-License-Identifier: Apache-2.0
// One call of the shim after its command line was read: where things are on this host.
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
    words::OwnOptions own;
    std::vector<std::string> rest;
    words::Invocation invocation;
    std::optional<std::string> argv0_profile; // "ci" when called as anchorhold-ci
    std::string policy_path;
    std::vector<std::string> policy_files; // that were read: policy_path, its drop-ins
    Result<Policy> policy = Policy();      // an Error: the file is broken
    std::string runtime;                   // empty: `obstacle` says why there is none
    // Why nothing is done but our own subcommands: there is no runtime.
    std::optional<Error> obstacle;
    // Why nothing is created: an option of ours was wrong, the policy is broken, or there is no
    // place for state or for the runtime's root.
    std::optional<Error> creation_obstacle;
    std::string state_path; // empty: there is no place for state, so nothing is created
    std::string root;       // resolved; of --root or the runtime's default
};

// Reads the command line and the policy, finds the runtime. With a broken policy the runtime is
// the one of --ah-runtime, else of the run that a word names, else of the default search.
Session open_session(std::span<const char* const> argv);

// Carries out one command line: a verb of ours below, or the runtime in our place.
Result<int> carry_out(const Session& session);

// Returns the profile in a program's name: "ci" of "/usr/bin/anchorhold-ci". Returns nothing for
// the names of our own programs.
std::optional<std::string> profile_in_name(std::string_view argv0);

struct RootFacts { // what a runtime's default root hangs on
    bool euid_0 = false;
    bool initial_user_namespace = true;
    std::optional<std::string> xdg_runtime_dir, user;
};
// Returns a runtime's default root. For runc (main.go, rootless_linux.go) it is /run/runc for root,
// but not for a root that a user namespace made of USER, and below XDG_RUNTIME_DIR for others. For
// crun (status.c) it is below XDG_RUNTIME_DIR whoever asks.
std::string default_root(words::Flavour flavour, const RootFacts& facts);

// Returns the directory in which the policy has the last records kept. It is root's, so the result
// is empty for others, in a rootless engine too.
std::string records_folder(const Session& session);

// A run of ours that the command line names. With an option that is not known any word may be the
// id.
struct OwnRun {
    state::StateDir state;
    RunKey key;
    Record record;
};
Result<std::optional<OwnRun>> find_own_run(const Session& session);

} // namespace anchorhold
