// SPDX-License-Identifier: Apache-2.0
// The checks that the relay makes itself before the command runs. The createRuntime hook was here.
// The network is not the host's. The mounted directories are those that were looked at when the run
// was admitted.
#pragma once

#include "relay/failure.hpp"
#include "relay/options.hpp"
#include "schema/unique_fd.hpp"

namespace anchorhold::relay {

// Refuses to run in the host's network namespace. /proc is asked when an identity is known, and a
// socket when a cookie is known (SO_NETNS_COOKIE, Linux 5.14: it needs no /proc, and nothing can be
// mounted over it). One of the two has to answer, because else nothing can be known.
Failure check_namespace(const Options& options);

// Checks that the file DIR/enforced holds the mark, and reads `gateway` from it: the IPv4 address
// of the host's end of the run's link, in network byte order; 0: the run has no link. The mark and
// the address stand in a line each, and nothing else is in the file.
Failure check_mark(const Options& options, uint32_t& gateway);
// Checks the content of that file. Returns what is wrong with it, or nullptr.
const char* read_enforced(const char* content, size_t size, const char* mark, uint32_t& gateway);

// Opens the endpoint's directory for fchdir(2) and compares it with what was recorded. The socket
// may be missing, because its broker may be restarting, and each connection finds that out for
// itself. But what stands in its place must be a socket.
Failure open_directory(const Endpoint& endpoint, UniqueFd& directory);

} // namespace anchorhold::relay
