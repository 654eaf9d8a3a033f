// SPDX-License-Identifier: Apache-2.0
// Subcommands of our own: doctor, explain, check, runs, show, denials, verify, gc, precreate,
// import. They are ours only as the first word; session.rest[0] is their name, the rest their
// arguments.
#pragma once

#include "shim/session.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace anchorhold::tools {

bool is_tool(std::string_view word);

struct ToolOutput {
    std::string text;    // for stdout
    std::string remarks; // for stderr
};

// The text that `words` (without argv[0]) ask to be printed: --ah-help, --ah-version, or a
// subcommand's --help. Nothing else is read or opened for it, so it is there on a host where
// nothing else works.
std::optional<std::string> text_asked_for(std::span<const char* const> words);

Result<int> run_tool(const Session& session, ToolOutput& output);

} // namespace anchorhold::tools
