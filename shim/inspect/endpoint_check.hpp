// SPDX-License-Identifier: Apache-2.0
// Finds an endpoint's socket on the host and proves that somebody serves it, before anything is
// made (DESIGN 4, "Socket endpoints"). openat2(2) all the way, no symlink out.
#pragma once

#include "schema/json/json.hpp"
#include "schema/plan.hpp"

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace anchorhold {

// The container's command as the host's kernel will see it.
struct CommandUser {
    uid_t host_uid = 0;
    gid_t host_gid = 0;
    std::vector<gid_t> host_groups;
    bool overrides_modes = true; // holds CAP_DAC_OVERRIDE over the host's files (no user namespace)
    bool takes_any_uid = true;   // may become another uid of the host's
    bool own_users = false;      // lives in a user namespace of its own
};
Result<CommandUser> command_user(json::View config);

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

// What to do about a broker whose descriptors the command could take out of it with
// pidfd_getfd(2), were that call not denied (DESIGN 8); nothing when it could not.
std::optional<std::string> broker_advice(const SocketServer& server, const CommandUser& user);

} // namespace anchorhold
