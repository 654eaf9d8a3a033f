// SPDX-License-Identifier: Apache-2.0
// Subcommands of our own: doctor, explain, check, runs, show, denials, verify, setup, policy,
// gc, precreate, import. They are ours only as the first word: session.rest[0] is the name, and the
// rest are its arguments.
#pragma once

#include "shim/session.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace anchorhold::tools {

// Says whether the word names a subcommand of our own.
bool is_tool(std::string_view word);

// The texts that a tool has printed.
struct ToolOutput {
    std::string text;    // for stdout
    std::string remarks; // for stderr
};

// Returns the text that `words` (without argv[0]) ask to be printed: that of --ah-help,
// --ah-version or a subcommand's --help; nothing when they ask for none. No file is read for it, so
// it is there on a host where nothing else works.
std::optional<std::string> text_asked_for(std::span<const char* const> words);

// Runs the tool that session.rest[0] names. Returns the exit status; invalid_request with the usage
// line for arguments that it does not take.
Result<int> run_tool(const Session& session, ToolOutput& output);

} // namespace anchorhold::tools
