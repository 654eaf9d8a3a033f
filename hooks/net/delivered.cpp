// SPDX-License-Identifier: Apache-2.0
#include "hooks/net/delivered.hpp"

#include "hooks/net/netlink_request.hpp"

#include <arpa/inet.h>
#include <array>
#include <libmnl/libmnl.h>
#include <utility>

#include <linux/rtnetlink.h>

namespace anchorhold::net {
namespace {

constexpr unsigned shortest = 8; // a route with a shorter prefix is as wide as a default route

} // namespace

// A kernel without strict checks lists all routes.
std::vector<Step> list_delivered()
{
    std::vector<Step> steps;
    for (const auto& [family, type] :
         {std::pair(AF_INET, RTN_LOCAL), std::pair(AF_INET, RTN_BROADCAST),
          std::pair(AF_INET6, RTN_LOCAL), std::pair(AF_INET6, RTN_ANYCAST)}) {
        NetlinkRequest request(RTM_GETROUTE, NLM_F_DUMP);
        auto& route = request.add<rtmsg>();
        route.rtm_family = static_cast<unsigned char>(family);
        route.rtm_type = static_cast<unsigned char>(type);
        steps.push_back(request.finish("list what the host delivers to itself"));
    }
    return steps;
}

Result<std::optional<rules::Prefix>> read_delivered(const Message& message)
{
    const nlmsghdr* const header = header_of(message);
    if (header->nlmsg_type != RTM_NEWROUTE || mnl_nlmsg_get_payload_len(header) < sizeof(rtmsg))
        return fail(Code::network_setup_failed, "read a route: not a route's message");
    const auto* const route = static_cast<const rtmsg*>(mnl_nlmsg_get_payload(header));
    const bool delivered = route->rtm_type == RTN_LOCAL || route->rtm_type == RTN_BROADCAST ||
                           route->rtm_type == RTN_ANYCAST;
    if (!delivered || route->rtm_dst_len < shortest || (route->rtm_flags & RTM_F_CLONED) != 0)
        return std::nullopt;
    const nlattr* to = nullptr;
    const auto keep = [](const nlattr* attribute, void* data) {
        if (mnl_attr_get_type(attribute) == RTA_DST)
            *static_cast<const nlattr**>(data) = attribute;
        return MNL_CB_OK;
    };
    const std::size_t size = route->rtm_family == AF_INET ? sizeof(in_addr) : sizeof(in6_addr);
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (mnl_attr_parse(header, sizeof(rtmsg), keep, &to) < 0 || to == nullptr ||
        mnl_attr_get_payload_len(to) != size ||
        ::inet_ntop(route->rtm_family, mnl_attr_get_payload(to), text.data(), text.size()) ==
            nullptr)
        return fail(Code::network_setup_failed, "read a route: broken attributes");
    AH_TRY(const rules::Prefix prefix,
           rules::Prefix::parse(std::string(text.data()) + "/" + std::to_string(route->rtm_dst_len),
                                Code::network_setup_failed),
           "read a route");
    return prefix;
}

} // namespace anchorhold::net
