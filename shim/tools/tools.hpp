// SPDX-License-Identifier: Apache-2.0
// Subcommands of our own (DESIGN 12): doctor, explain, check, runs, show, denials, verify, gc,
// precreate, import. They are ours only as the first word; session.rest[0] is their name, the rest
// their arguments.
#pragma once

#include "shim/session.hpp"

#include <string>
#include <string_view>

namespace anchorhold {

bool is_tool(std::string_view word);

struct Told {
    std::string text;    // for stdout
    std::string remarks; // for stderr
};
Result<int> run_tool(const Session& session, Told& told);

} // namespace anchorhold
