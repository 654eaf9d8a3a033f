// SPDX-License-Identifier: Apache-2.0
// Who is process 1 of a container with a relay: the relay, or a command that must be. Pure.
#pragma once

#include "schema/policy.hpp"

#include <string>
#include <string_view>

namespace anchorhold {

struct FirstProcess {      // what config.json makes process 1 of what
    std::string program;   // process.args[0]
    bool own_pids = false; // a pid namespace of the container's own, so there is a process 1
};

// systemd and its like refuse to be, or do half their work as, any other process.
bool must_be_first(std::string_view program);

// `automatic` resolved: `child` for such a program, else `inside`. Refuses (invalid_request) a
// `child` that nothing would end with its command, and one that could not stop it when its broker
// is lost.
Result<Relay> relay_for(const Switches& asked, const FirstProcess& first);

} // namespace anchorhold
