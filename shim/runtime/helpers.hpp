// SPDX-License-Identifier: Apache-2.0
// The programs that belong to this one, found beside it and nowhere else: from /proc/self/exe in
// ../libexec/anchorhold/, else in the build tree's ../hooks and ../relay (DESIGN 12).
#pragma once

#include "schema/error.hpp"

#include <string>

namespace anchorhold::runtime {

struct Helpers {
    std::string self;  // absolute, resolved
    std::string hook;  // anchorhold-hook
    std::string relay; // anchorhold-relay
};
// Refused when one is missing or could be replaced by somebody but root (or our euid).
Result<Helpers> find_helpers();

} // namespace anchorhold::runtime
