// SPDX-License-Identifier: Apache-2.0
// One conversation with the kernel in one network namespace: that of the moment it was opened.
// Messages are made elsewhere by pure functions; here they are sent and every answer is read.
#pragma once

#include "hooks/state/deadline.hpp"
#include "schema/error.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

struct mnl_socket;
struct nlmsghdr; // NOLINT(readability-identifier-naming): the kernel's name

namespace anchorhold::net {

using Message = std::vector<std::byte>; // one netlink message, header included

const nlmsghdr* header_of(const Message& message);

struct Step {
    std::string doing; // "add chain output"
    Message message;
};

class Netlink {
public:
    // `protocol`: NETLINK_ROUTE, NETLINK_NETFILTER, NETLINK_SOCK_DIAG.
    static Result<Netlink> open(int protocol, const state::Deadline& deadline);
    // All steps in one datagram (an nftables transaction is one). Every step that asks for an
    // acknowledgement gets one; the first refusal is the error, with the kernel's own words.
    Status send(std::span<const Step> steps);
    // What a dump request lists.
    Result<std::vector<Message>> list(const Step& request);

private:
    struct Close {
        void operator()(mnl_socket* socket) const noexcept;
    };
    using Socket = std::unique_ptr<mnl_socket, Close>;
    Netlink(Socket socket, const state::Deadline& deadline)
        : socket_(std::move(socket)), deadline_(deadline)
    {
    }
    Status transmit(std::span<const Step> steps);
    Result<std::vector<Message>> receive(std::string_view doing);
    Result<std::vector<Message>> list_once(const Step& request);

    Socket socket_;
    state::Deadline deadline_;
    std::uint32_t sent_ = 0; // messages so far; sequence numbers count from 1
};

} // namespace anchorhold::net
