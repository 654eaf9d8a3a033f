// SPDX-License-Identifier: Apache-2.0
// One call of a container engine's CRI, over its Unix socket.
#pragma once

#include "schema/error.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace anchorhold::runtime {

// Calls a method of the service RuntimeService, version v1, which is "RunPodSandbox", with a
// message of protocol buffers, and returns the message that comes back. A failure has code
// delegate_failed and the engine's own words. Refuses a socket that somebody but root (or our euid)
// could replace.
Result<std::string> call_cri(const std::string& socket, std::string_view method,
                             std::string_view message, std::chrono::seconds deadline);

} // namespace anchorhold::runtime
