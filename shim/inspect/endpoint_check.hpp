// SPDX-License-Identifier: Apache-2.0
// Finds an endpoint's socket on the host and proves that somebody serves it, before anything is
// made; asks the same of a port. Paths are opened by openat2(2) all the way; below a permitted
// directory no symbolic link is followed.
#pragma once

#include "schema/json/json.hpp"
#include "schema/plan.hpp"
#include "shim/inspect/command_user.hpp"

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace anchorhold::inspect {

// A socket and the process that serves it.
struct SocketServer {
    EndpointPlace place;
    // The uid of the process that listens (SO_PEERCRED); nothing when a full backlog hides it.
    std::optional<uid_t> uid;
    pid_t pid = 0; // of that process; 0: hidden, or outside our pid namespace
};
// Finds the socket of one endpoint. `permitted` are the directories that the socket must lie
// strictly below; else an annotation could have the engine's own socket mounted. An empty list
// permits none. No list at all means that the administrator named the socket. Code
// endpoint_unavailable; the sentence begins "endpoint NAME: ".
Result<SocketServer> find_endpoint(const Endpoint& endpoint,
                                   const std::optional<std::vector<std::string>>& permitted,
                                   const CommandUser& user,
                                   const std::vector<Endpoint>& all_of_this_run);

// Refuses an endpoint tcp:host:PORT when nobody listens on that port of the host, or only where the
// way to it does not lead: a link does not lead to the loopback, and the gate there alone. Other
// endpoints pass. Code endpoint_unavailable; the sentence begins
// "endpoint NAME: ".
Status check_listener(const Endpoint& endpoint, Tcp way);

} // namespace anchorhold::inspect
