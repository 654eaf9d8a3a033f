// SPDX-License-Identifier: Apache-2.0
// Starts the gate of a run: a process outside the container that serves sockets inside it. The
// order matters:
//
// 1. The caller has loaded the table, emptied the namespace, and nobody listens in it.
// 2. A pidfd of the container's init. The init must still be the one whose namespace this is.
// 3. Nobody else is in that namespace, so nobody can take an address before us.
// 4. Every address becomes lo's, and the sockets are opened.
// 5. The gate is executed with these sockets, the pidfd, its rules and its report, and nothing else
//    of ours. It closes its stderr when it serves.
// 6. It is asked from inside: a name that nobody has must not exist, and a connection to an address
//    that means no name must be reset. Only then the record says so.
//
// If a step fails, the gate is killed. What was made inside stays: it lets nothing out.
#pragma once

#include "hooks/net/netns.hpp"
#include "schema/rules/gate_rules.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold {

struct GateStart {
    std::string program;               // absolute path of anchorhold-gate
    std::string rules;                 // as read_gate_rules() reads them
    int report = -1;                   // an open file, in which the gate counts what it refuses
    std::vector<std::uint16_t> listen; // a port for each endpoint of the rules, in their order
    std::optional<unsigned> user;      // a user and group of its own; nullopt: the caller's
    bool again = false; // steps 3 and the addresses of 4 were done for a gate that is gone
};

// Returns the user of a run's gate when we are root: no two runs that live have the same, as far as
// 16 bits of the key tell.
unsigned gate_user(std::string_view key);

Result<ProcessIdentity> start_gate(const net::Netns& netns, net::Conversations& inside,
                                   const GateStart& start, const state::Deadline& deadline);

} // namespace anchorhold
