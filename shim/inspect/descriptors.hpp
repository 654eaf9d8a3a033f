// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/words/command_line.hpp"

#include <optional>
#include <string>
#include <vector>

namespace anchorhold::inspect {

// Files, pipes, terminals, /dev/null and its like, and AF_UNIX sockets may be handed to a
// container; everything else is refused (invalid_request): sockets of the host's network, nsfs,
// directories, O_PATH, tun, pidfds, io_uring. Hands back the line for other_channels; nothing for
// a closed descriptor or a harmless one.
Result<std::optional<std::string>> check_descriptor(int fd);
// How many descriptors from 3 on the container will be handed: $LISTEN_FDS (sd_listen_fds(3)) and
// --preserve-fds.
Result<unsigned> count_handed(const words::Invocation& call);
// 0 to 2, and from 3 on as many as are `preserved`.
Result<std::vector<std::string>> check_descriptors(unsigned preserved);

} // namespace anchorhold::inspect
