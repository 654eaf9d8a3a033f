// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/inspect/endpoint_check.hpp"

#include <optional>
#include <string>

namespace anchorhold::inspect {

// Returns advice about a broker whose descriptors the command could take with pidfd_getfd(2), were
// that call not denied; nothing when it could not, or when it is not known who serves.
std::optional<std::string> broker_advice(const SocketServer& server, const CommandUser& user);

} // namespace anchorhold::inspect
