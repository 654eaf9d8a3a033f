// SPDX-License-Identifier: Apache-2.0
// The system calls that the first process of ours needs, and the caller's seccomp profile.
#pragma once

#include "schema/json/json.hpp"

#include <cstdint>
#include <string>

namespace anchorhold::edit {

// The work of the first process before, and beside, the command.
enum class RelayWork : std::uint8_t {
    look,  // looks from inside, then becomes the command
    serve, // stays, and serves endpoints or names
};

// Says which of the calls that the work needs the profile in config.json denies without conditions:
// "linux.seccomp: denies capset, splice to the relay, ..."; empty: none, or there is no profile.
Result<std::string> denied_to_relay(json::View config, RelayWork work);

} // namespace anchorhold::edit
