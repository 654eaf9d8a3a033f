// SPDX-License-Identifier: Apache-2.0
// What the relay sees for itself before the command runs: that the createRuntime hook was here,
// that this is not the host's network, and that what is mounted is what was looked at when the run
// was admitted.
#pragma once

#include "relay/failure.hpp"
#include "relay/options.hpp"
#include "schema/unique_fd.hpp"

namespace anchorhold::relay {

// Our network namespace is not the host's. Asked of /proc when an identity is known, of a socket
// (SO_NETNS_COOKIE, Linux 5.14: needs no /proc and cannot be mounted over) when a cookie is; a
// container without /proc and without a cookie is refused, since then nobody knows.
Failure check_namespace(const Options& options);

// DIR/enforced holds the mark, and for a run that has one the IPv4 address of the host's end of its
// link (network byte order; 0: none). Each in a line of its own, nothing else.
Failure check_mark(const Options& options, uint32_t& gateway);
// The same of that file's content; what is wrong with it, or nullptr.
const char* read_enforced(const char* content, size_t size, const char* mark, uint32_t& gateway);

// The endpoint's directory, open for fchdir(2) and compared with what was recorded. The socket
// may be missing (its broker is being restarted; that is a matter of each connection), but what
// stands in its place must be a socket.
Failure open_directory(const Endpoint& endpoint, UniqueFd& directory);

} // namespace anchorhold::relay
