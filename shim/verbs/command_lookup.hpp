// SPDX-License-Identifier: Apache-2.0
// Is the container's command there? With a relay in front the runtime finds its process 1 whatever
// stands behind it, so a missing command would be told of at start, when `podman run --detach` has
// long said that all is well. A runtime looks the command up at the end of create; so do we, in the
// root that is then complete: volumes mounted, every hook run.
#pragma once

#include "schema/json/json.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace anchorhold::verbs {

struct CommandLookup {
    std::string name;                     // of process.args, behind the relay's words
    std::vector<std::string> directories; // of PATH in process.env, as they stand there
    std::string cwd;                      // absolute
};
Result<CommandLookup> command_lookup(json::View config, std::size_t relay_words);

// `root` is the container's root directory. In runc's words, by which engines know the status (127
// or 126): nothing at that path, or nothing that anybody may execute. What only an attempt can tell
// (a format, the user's rights) is left to the start; then nothing is said here.
std::optional<std::string> missing_command(int root, const CommandLookup& command);

} // namespace anchorhold::verbs
