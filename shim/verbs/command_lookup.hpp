// SPDX-License-Identifier: Apache-2.0
// Checks whether the container's command exists. A runtime does so at the end of create. With a
// relay in front it finds the relay and looks no further, so a missing command would show at start
// only, when `podman run --detach` has long said that all is well. So we look it up at the same
// time: the root is then complete, volumes are mounted and every hook has run.
#pragma once

#include "schema/json/json.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace anchorhold::verbs {

// The parts of config.json that decide where a command is found.
struct CommandLookup {
    std::string name;                     // the command in process.args, behind the relay's words
    std::vector<std::string> directories; // of PATH in process.env, as they stand there
    std::string cwd;                      // the working directory, absolute
};
// Reads these parts. `relay_words` is the number of words before the command.
Result<CommandLookup> command_lookup(json::View config, std::size_t relay_words);

// Returns what is wrong with the command: nothing exists at that path, or nobody may execute it.
// The sentence is runc's, because engines derive the status (127 or 126) from its words. `root` is
// a descriptor of the container's root directory and stays the caller's. Returns nothing when only
// an attempt can tell (a format, the user's rights); that is left to the start.
std::optional<std::string> missing_command(int root, const CommandLookup& command);

} // namespace anchorhold::verbs
