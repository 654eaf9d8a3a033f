// SPDX-License-Identifier: Apache-2.0
// A container's network namespace, kept by a descriptor and recognised by device:inode. This
// process never enters it: a child enters it to open sockets there.
#pragma once

#include "hooks/net/links.hpp"
#include "hooks/net/netlink.hpp"
#include "schema/file_identity.hpp"
#include "schema/record.hpp"
#include "schema/unique_fd.hpp"

#include <functional>
#include <sys/types.h>
#include <vector>

namespace anchorhold::net {

struct Netns {
    UniqueFd fd;
    FileIdentity identity;
    ProcessIdentity init; // the process whose namespace it was when the descriptor was opened
};
// Opens the network namespace of a process. The error is ESRCH when the process ended meanwhile.
Result<Netns> netns_of(pid_t pid);
// Refuses a namespace with another process than `init` in it. The error names that process.
Status check_alone(const Netns& netns);

struct Conversations {
    Netlink route;
    Result<Netlink> nftables; // an error when the kernel has no nf_tables
    Result<Netlink> sockets;  // an error when the kernel has no sock_diag(7)
};
// Opens the conversations in that namespace.
Result<Conversations> talk_inside(const Netns& netns, const state::Deadline& deadline);

// Has `visit` done in that namespace, by a child that shares our memory and descriptors: what it
// opens is ours. It must not wait.
Status visit_inside(const Netns& netns, const std::function<Status()>& visit);

// Opens a non-blocking tcp socket in that namespace.
Result<UniqueFd> socket_inside(const Netns& netns);

// Returns the links that this kernel puts into a new namespace by itself.
Result<std::vector<Link>> links_of_fresh_netns(const state::Deadline& deadline);
// Returns all links of the namespace of `route`.
Result<std::vector<Link>> links_in(Netlink& route);
// Finds one link by its name, without listing all. Returns nullopt when there is none.
Result<std::optional<Link>> find_link(Netlink& route, const std::string& name);

} // namespace anchorhold::net
