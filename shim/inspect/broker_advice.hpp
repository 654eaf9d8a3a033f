// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/inspect/endpoint_check.hpp"

#include <optional>
#include <string>

namespace anchorhold::inspect {

// What to do about a broker whose descriptors the command could take out of it with
// pidfd_getfd(2), were that call not denied (DESIGN 8); nothing when it could not.
std::optional<std::string> broker_advice(const SocketServer& server, const CommandUser& user);

} // namespace anchorhold::inspect
