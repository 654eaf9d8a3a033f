// SPDX-License-Identifier: Apache-2.0
// The choice of process 1 in a container with a relay: the relay, or a command that must be process
// 1. Pure.
#pragma once

#include "schema/policy.hpp"

#include <string>
#include <string_view>

namespace anchorhold {

// The container's first process, as config.json has it.
struct FirstProcess {
    std::string program;   // process.args[0]
    bool own_pids = false; // the container has a pid namespace of its own, so it has a process 1
};

// Returns whether the program has to be process 1: systemd and its like refuse to run as any other
// process, or do only half their work.
bool must_be_first(std::string_view program);

// Returns the variable that a program reads which reaps zombies as process 1: behind the relay it
// is a child and says on stderr that it cannot; empty: it reads none. Podman's catatonit says
// nothing there.
std::string_view subreaper_variable(std::string_view program);

// Returns the relay that was asked for; `automatic` becomes `child` for a program that must be
// process 1, else `inside`.
// Refuses (invalid_request) `child` without a pid namespace of the container's own, where nothing
// would end the relay when its command ends. Refuses (invalid_request) `child` together with
// "on_broker_lost": "stop": process 1 of a container cannot be killed from inside.
Result<Relay> relay_for(const Switches& asked, const FirstProcess& first);

} // namespace anchorhold
