// SPDX-License-Identifier: Apache-2.0
// A container's network namespace, held by a descriptor and recognised by device:inode. This
// process never lives in it: a child enters to open sockets there.
#pragma once

#include "hooks/net/links.hpp"
#include "hooks/net/netlink.hpp"
#include "schema/file_identity.hpp"
#include "schema/record.hpp"
#include "schema/unique_fd.hpp"

#include <sys/types.h>
#include <vector>

namespace anchorhold::net {

struct Netns {
    UniqueFd fd;
    FileIdentity identity;
    ProcessIdentity init; // whose it was, before and after the descriptor was opened
};
Result<Netns> netns_of(pid_t pid);
// Is that process the only one in it? Names another in the error.
Status check_alone(const Netns& netns);

struct Conversations {
    Netlink route;
    Result<Netlink> nftables; // a kernel may have none
    Result<Netlink> sockets;  // sock_diag(7); likewise
};
Result<Conversations> talk_inside(const Netns& netns, const state::Deadline& deadline);

// A tcp socket of the container's, non-blocking.
Result<UniqueFd> socket_inside(const Netns& netns);

// What this kernel puts into a namespace of its own accord.
Result<std::vector<Link>> links_of_fresh_netns(const state::Deadline& deadline);
Result<std::vector<Link>> links_in(Netlink& route);
// By name, without a list of all there are.
Result<std::optional<Link>> find_link(Netlink& route, const std::string& name);

} // namespace anchorhold::net
