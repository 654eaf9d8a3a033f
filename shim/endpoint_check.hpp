// SPDX-License-Identifier: Apache-2.0
// Finds an endpoint's socket on the host and proves that somebody serves it, before anything is
// made (DESIGN 4, "Socket endpoints"). openat2(2) all the way, no symlink out.
#pragma once

#include "schema/json.hpp"
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
};
Result<CommandUser> command_user(json::View config);

struct SocketServer {
    EndpointPlace place;
    uid_t uid = 0; // SO_PEERCRED of who listens
    pid_t pid = 0;
};
// `permitted`: directories the socket must lie strictly below; empty: the administrator's word.
// Code endpoint_unavailable, the sentence begins "endpoint NAME: ".
Result<SocketServer> find_endpoint(const Endpoint& endpoint,
                                   const std::vector<std::string>& permitted,
                                   const CommandUser& user,
                                   const std::vector<Endpoint>& all_of_this_run);

} // namespace anchorhold
