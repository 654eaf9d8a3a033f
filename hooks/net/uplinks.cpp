// SPDX-License-Identifier: Apache-2.0
#include "hooks/net/uplinks.hpp"

#include "hooks/net/routes.hpp"
#include "hooks/state/routed_range.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <libmnl/libmnl.h>

#include <linux/rtnetlink.h>

namespace anchorhold::net {
namespace {

struct Way {
    std::uint32_t to = 0; // host byte order
    std::vector<unsigned> links;
};

void add_hops(const nlattr* attribute, std::vector<unsigned>& links)
{
    const auto* const begin = static_cast<const std::uint8_t*>(mnl_attr_get_payload(attribute));
    const std::size_t size = mnl_attr_get_payload_len(attribute);
    for (std::size_t at = 0; at + sizeof(rtnexthop) <= size;) {
        const auto* const hop = reinterpret_cast<const rtnexthop*>(begin + at);
        if (hop->rtnh_len < sizeof(rtnexthop))
            return;
        links.push_back(static_cast<unsigned>(hop->rtnh_ifindex));
        at += RTNH_ALIGN(hop->rtnh_len);
    }
}

int keep_way(const nlattr* attribute, void* data)
{
    Way& way = *static_cast<Way*>(data);
    const std::uint16_t type = mnl_attr_get_type(attribute);
    if (type == RTA_MULTIPATH)
        add_hops(attribute, way.links);
    if (type != RTA_DST && type != RTA_OIF)
        return MNL_CB_OK;
    if (mnl_attr_validate(attribute, MNL_TYPE_U32) < 0)
        return MNL_CB_ERROR;
    if (type == RTA_DST)
        way.to = ntohl(mnl_attr_get_u32(attribute));
    else
        way.links.push_back(mnl_attr_get_u32(attribute));
    return MNL_CB_OK;
}

bool meet(const state::RoutedRange& one, const state::RoutedRange& other)
{
    return one.base <= other.last() && other.base <= one.last();
}

} // namespace

Result<std::vector<unsigned>> links_of_route(const Message& message,
                                             const std::vector<rules::Reach>& allow)
{
    const nlmsghdr* const header = header_of(message);
    if (header->nlmsg_type != RTM_NEWROUTE || mnl_nlmsg_get_payload_len(header) < sizeof(rtmsg))
        return fail(Code::network_setup_failed, "not the kernel's answer to what was asked");
    const auto* const route = static_cast<const rtmsg*>(mnl_nlmsg_get_payload(header));
    if (route->rtm_family != AF_INET || route->rtm_type != RTN_UNICAST ||
        (route->rtm_flags & RTM_F_CLONED) != 0)
        return {};
    Way way;
    if (mnl_attr_parse(header, sizeof(rtmsg), keep_way, &way) < 0)
        return fail(Code::network_setup_failed, "broken attributes");
    const state::RoutedRange range{way.to, route->rtm_dst_len, 0};
    const bool leads = std::ranges::any_of(allow, [&range](const rules::Reach& reach) {
        return reach.to.is_v4() && meet(range, state::RoutedRange::of(reach.to));
    });
    return leads ? std::move(way.links) : std::vector<unsigned>();
}

Result<std::vector<unsigned>> uplinks(Netlink& route, const std::vector<rules::Reach>& allow)
{
    AH_TRY(const auto messages, route.list(list_routes()));
    std::vector<unsigned> links;
    for (const Message& message : messages) {
        AH_TRY(const auto some, links_of_route(message, allow), "read the routes");
        links.insert(links.end(), some.begin(), some.end());
    }
    std::ranges::sort(links);
    links.erase(std::ranges::unique(links).begin(), links.end());
    return links;
}

} // namespace anchorhold::net
