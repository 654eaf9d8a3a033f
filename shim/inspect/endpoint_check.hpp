// SPDX-License-Identifier: Apache-2.0
// Finds an endpoint's socket on the host and proves that somebody serves it, before anything is
// made (DESIGN 4, "Socket endpoints"). openat2(2) all the way, no symlink out.
#pragma once

#include "schema/json/json.hpp"
#include "schema/plan.hpp"
#include "shim/inspect/command_user.hpp"

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace anchorhold::inspect {

struct SocketServer {
    EndpointPlace place;
    std::optional<uid_t> uid; // SO_PEERCRED of who listens; a full backlog hides it
    pid_t pid = 0;            // 0: hidden, or outside our pid namespace
};
// `permitted`: directories the socket must lie strictly below, an empty list permits none; nothing
// at all: the administrator's word.
// Code endpoint_unavailable, the sentence begins "endpoint NAME: ".
Result<SocketServer> find_endpoint(const Endpoint& endpoint,
                                   const std::optional<std::vector<std::string>>& permitted,
                                   const CommandUser& user,
                                   const std::vector<Endpoint>& all_of_this_run);

} // namespace anchorhold::inspect
