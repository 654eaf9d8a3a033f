// SPDX-License-Identifier: Apache-2.0
// A Netlink object is one conversation with the kernel, in the network namespace where it was
// opened. Pure functions elsewhere make the messages. This code sends them and reads every answer.
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

// A step is one message, with the words that begin the error when the kernel refuses it.
struct Step {
    std::string doing; // "add chain output"
    Message message;
};

class Netlink {
public:
    // Opens a conversation. `protocol` is NETLINK_ROUTE, NETLINK_NETFILTER or NETLINK_SOCK_DIAG.
    // Every wait ends at `deadline`, with ETIMEDOUT.
    static Result<Netlink> open(int protocol, const state::Deadline& deadline);
    // Sends all steps in one datagram: an nftables transaction must be one. Waits for the
    // acknowledgement of every step that asks for one. The first refusal is the error, with the
    // kernel's own words.
    Status send(std::span<const Step> steps);
    // Sends a request and returns the messages that answer it.
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
    std::uint32_t sent_ = 0; // messages sent so far; the first one has sequence number 1
};

} // namespace anchorhold::net
