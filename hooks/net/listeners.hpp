// SPDX-License-Identifier: Apache-2.0
// Sockets that wait for somebody in a network namespace (sock_diag(7)). Before the command starts
// there is none, unless a process outside planted it: a way out that no link shows. Pure.
#pragma once

#include "hooks/net/netlink.hpp"

#include <optional>
#include <string>
#include <vector>

namespace anchorhold::net {

struct Listener {
    std::string text;             // "tcp 127.0.0.1:8080"
    bool docker_resolver = false; // at 127.0.0.11, which the drop table refuses
    friend bool operator==(const Listener&, const Listener&) = default;
};
struct ListenerQuestion {
    std::string protocol; // "tcp"
    Step request;
};

std::vector<ListenerQuestion> ask_for_listeners();
Result<Listener> read_listener(const std::string& protocol, const Message& message);

} // namespace anchorhold::net
