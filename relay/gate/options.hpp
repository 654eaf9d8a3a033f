// SPDX-License-Identifier: Apache-2.0
// The command line of anchorhold-gate. All it names are numbers: of open descriptors, and a user.
#pragma once

#include "relay/gate/gate.hpp"
#include "relay/gate/sandbox.hpp"

#include <span>

namespace anchorhold::gate {

struct Options {
    UniqueFd rules; // a file with the rules, at its beginning
    Inherited inherited;
    std::optional<Identity> identity;
};

// Reads --rules, --report, --init, --dns and --capture, each with a descriptor; --endpoint
// NUMBER:DESCRIPTOR; and --user and --group. --capture and --endpoint may come several times.
Result<Options> read_options(std::span<const char* const> words);

// Closes every descriptor that is not in the options, but for the standard ones.
Status close_others(const Options& options);

} // namespace anchorhold::gate
