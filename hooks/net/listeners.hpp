// SPDX-License-Identifier: Apache-2.0
// Lists the sockets that listen in a network namespace (sock_diag(7)). Before the command starts
// there should be none. One that is there was planted by a process outside, and it is a way out
// that no link shows. Pure: it only makes and reads messages.
#pragma once

#include "hooks/net/netlink.hpp"

#include <optional>
#include <string>
#include <vector>

namespace anchorhold::net {

struct Listener {
    std::string text;             // "tcp 127.0.0.1:8080"
    bool docker_resolver = false; // it is at 127.0.0.11, which the drop table refuses
    friend bool operator==(const Listener&, const Listener&) = default;
};
struct ListenerQuestion {
    std::string protocol; // "tcp"
    Step request;
};

// Returns the requests for tcp and udp, each over IPv4 and IPv6.
std::vector<ListenerQuestion> ask_for_listeners();
// Reads one answer to the request for `protocol`.
Result<Listener> read_listener(const std::string& protocol, const Message& message);

} // namespace anchorhold::net
