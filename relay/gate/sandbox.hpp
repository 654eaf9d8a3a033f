// SPDX-License-Identifier: Apache-2.0
// What the gate gives up before it serves. It faces the container on one side and the network on
// the other, so it keeps nothing that it does not need: no user of the host's, no group, no
// capability, no way to a program, to another process, or to a file but for reading. (It reads
// resolv.conf and hosts again when they change.) It opens no socket but TCP and UDP.
#pragma once

#include "schema/error.hpp"

#include <optional>
#include <sys/types.h>

namespace anchorhold::gate {

struct Identity {
    uid_t user = 0;
    gid_t group = 0;
};

// Gives all that up. Without an identity the user stays who it is, as below an engine without root.
Status enter_sandbox(const std::optional<Identity>& identity);

} // namespace anchorhold::gate
