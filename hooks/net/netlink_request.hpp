// SPDX-License-Identifier: Apache-2.0
// Builds a netlink message: first its header, then the body that its type needs, then attributes.
#pragma once

#include "hooks/net/netlink.hpp"

#include <array>

namespace anchorhold::net {

class NetlinkRequest {
public:
    // Adds NLM_F_REQUEST to `flags`. A request for Netlink::list needs NLM_F_DUMP, or NLM_F_ACK if
    // its answer is one message.
    NetlinkRequest(std::uint16_t type, unsigned flags);
    NetlinkRequest(const NetlinkRequest&) = delete;
    NetlinkRequest& operator=(const NetlinkRequest&) = delete;

    nlmsghdr* header() { return header_; }
    template <typename Body> Body& add() { return *static_cast<Body*>(add_zeros(sizeof(Body))); }
    Step finish(std::string doing) const;

private:
    void* add_zeros(std::size_t size);

    static constexpr std::size_t most = 512; // bytes; the largest message makes a pair of links
    alignas(std::max_align_t) std::array<char, most> buffer_{};
    nlmsghdr* header_;
};

} // namespace anchorhold::net
