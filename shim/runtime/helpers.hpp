// SPDX-License-Identifier: Apache-2.0
// The programs that belong to this one. They are found beside it and nowhere else, so that no PATH
// can replace them: from /proc/self/exe where the build was told to install them, usually
// ../libexec/anchorhold/, else in the build tree's ../hooks and ../relay.
#pragma once

#include "schema/error.hpp"

#include <string>

namespace anchorhold::runtime {

// Absolute, resolved paths.
struct Helpers {
    std::string self; // this program
    std::string hook;
    std::string relay;
    Result<std::string> gate; // why not, where it cannot be used: only runs with a gate need it
};
// Finds the programs. Refuses (network_setup_failed) when one is missing or could be replaced by
// somebody but root (or our euid).
Result<Helpers> find_helpers();

} // namespace anchorhold::runtime
