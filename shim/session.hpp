// SPDX-License-Identifier: Apache-2.0
// One call of the shim after its command line was read: where things are, and the verbs that are
// not passed through untouched. Each verb returns the exit status, or the error to report.
#pragma once

#include "hooks/state.hpp"
#include "schema/policy.hpp"
#include "shim/command_line.hpp"

#include <optional>
#include <string>

namespace anchorhold {

struct Session {
    OwnOptions own;
    std::vector<std::string> rest;
    Invocation invocation;
    std::optional<std::string> argv0_profile; // "ci" when called as anchorhold-ci
    std::string policy_path;
    Result<Policy> policy = Policy(); // an Error when the file is broken
    std::string delegate;
    std::string state_path;
    std::string root; // resolved; of --root or the delegate's default
};

Result<int> create_or_run(const Session& session);    // create.cpp
Result<int> start_container(const Session& session);  // start.cpp
Result<int> exec_process(const Session& session);     // exec.cpp
Result<int> delete_container(const Session& session); // delete.cpp

} // namespace anchorhold
