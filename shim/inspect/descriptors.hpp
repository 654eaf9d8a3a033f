// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/words/command_line.hpp"

#include <optional>
#include <string>
#include <vector>

namespace anchorhold::inspect {

// Refuses (invalid_request) a descriptor that a confined container must not be handed: sockets of
// the host's network, nsfs, directories, O_PATH, tun, pidfds, io_uring and all else that is not
// listed as harmless. Files, pipes, terminals, /dev/null and its like, and AF_UNIX sockets are
// allowed. Returns the line for other_channels; nothing for a closed or harmless descriptor.
Result<std::optional<std::string>> check_descriptor(int fd);
// Returns how many descriptors from 3 on the container will be handed: $LISTEN_FDS
// (sd_listen_fds(3)) plus --preserve-fds.
Result<unsigned> count_handed(const words::Invocation& call);
Result<unsigned> count_preserved(const words::Invocation& call); // --preserve-fds alone
// Returns the number that one more preserved descriptor gets in the container. Returns 0 where it
// cannot be had: the subcommand makes no container, or the runtime inherits something there.
Result<int> one_more_descriptor(const words::Invocation& call);
// Checks the descriptors 0 to 2 and, from 3 on, as many as are `preserved`. Returns the lines for
// other_channels.
Result<std::vector<std::string>> check_descriptors(unsigned preserved);

} // namespace anchorhold::inspect
