// SPDX-License-Identifier: Apache-2.0
#include "relay/gate/route_query.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

namespace anchorhold::gate {
namespace {

struct RouteRequest {
    nlmsghdr header;
    rtmsg route;
    rtattr attribute;
    std::array<std::uint8_t, 16> address;
};

} // namespace

Status RouteQuery::open()
{
    socket_ =
        UniqueFd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
    if (!socket_)
        return fail_errno("open a netlink socket", errno);
    return {};
}

// The kernel answers while it takes the request (rtnetlink(7) has no queue of its own), so the
// answer is there when send(2) returns.
bool RouteQuery::leads_outside(const rules::Prefix& address)
{
    const std::uint32_t size = address.is_v4() ? 4 : 16;
    RouteRequest request = {};
    request.header.nlmsg_len = static_cast<std::uint32_t>(offsetof(RouteRequest, address)) + size;
    request.header.nlmsg_type = RTM_GETROUTE;
    request.header.nlmsg_flags = NLM_F_REQUEST;
    request.header.nlmsg_seq = ++sequence_;
    request.route.rtm_family = address.is_v4() ? AF_INET : AF_INET6;
    request.route.rtm_dst_len = static_cast<std::uint8_t>(size * 8);
    request.attribute.rta_type = RTA_DST;
    request.attribute.rta_len = static_cast<std::uint16_t>(RTA_LENGTH(size));
    request.address = address.bytes();
    if (::send(socket_.get(), &request, request.header.nlmsg_len, 0) < 0)
        return false;
    for (;;) {
        alignas(nlmsghdr) std::array<char, 4096> answer{};
        const ssize_t got = ::recv(socket_.get(), answer.data(), answer.size(), 0);
        if (got < static_cast<ssize_t>(sizeof(nlmsghdr) + sizeof(rtmsg)))
            return false;
        nlmsghdr header;
        std::memcpy(&header, answer.data(), sizeof header);
        if (header.nlmsg_seq != sequence_)
            continue; // of a request that was given up
        if (header.nlmsg_type != RTM_NEWROUTE)
            return false;
        rtmsg route;
        std::memcpy(&route, answer.data() + sizeof header, sizeof route);
        return route.rtm_type == RTN_UNICAST;
    }
}

} // namespace anchorhold::gate
