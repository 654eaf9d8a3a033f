// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/json/json.hpp"

#include <sys/types.h>
#include <vector>

namespace anchorhold::inspect {

// The container's command as the host's kernel will see it. Ids without a mapping are 65534.
struct CommandUser {
    uid_t host_uid = 0;
    gid_t host_gid = 0;
    std::vector<gid_t> host_groups;
    bool overrides_modes = true; // holds CAP_DAC_OVERRIDE over the host's files (no user namespace)
    bool takes_any_uid = true;   // may become another uid of the host's
    bool own_users = false;      // lives in a user namespace of its own
};
// Reads the command's ids and capabilities in config.json.
Result<CommandUser> command_user(json::View config);

} // namespace anchorhold::inspect
