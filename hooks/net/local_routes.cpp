// SPDX-License-Identifier: Apache-2.0
#include "hooks/net/local_routes.hpp"

#include "hooks/net/netlink_request.hpp"
#include "schema/rules/gate_rules.hpp"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>

#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

namespace anchorhold::net {
namespace {

constexpr unsigned loopback = 1;
constexpr unsigned adds = NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;

void local_default(NetlinkRequest& request, std::uint8_t family)
{
    auto& body = request.add<rtmsg>();
    body.rtm_family = family;
    body.rtm_table = RT_TABLE_LOCAL;
    body.rtm_protocol = RTPROT_STATIC;
    body.rtm_scope = RT_SCOPE_HOST;
    body.rtm_type = RTN_LOCAL;
    mnl_attr_put_u32(request.header(), RTA_OIF, loopback);
}

} // namespace

Step give_lo_an_address(const rules::Prefix& handles)
{
    const std::uint32_t own = htonl(rules::lo_address(handles));
    NetlinkRequest address(RTM_NEWADDR, adds);
    auto& body = address.add<ifaddrmsg>();
    body.ifa_family = AF_INET;
    body.ifa_prefixlen = static_cast<std::uint8_t>(handles.length());
    body.ifa_scope = RT_SCOPE_HOST;
    body.ifa_index = loopback;
    mnl_attr_put_u32(address.header(), IFA_LOCAL, own);
    mnl_attr_put_u32(address.header(), IFA_ADDRESS, own);
    return address.finish("give lo an address of " + handles.text());
}

std::vector<Step> make_v4_local(const rules::Prefix& handles)
{
    NetlinkRequest v4(RTM_NEWROUTE, adds);
    local_default(v4, AF_INET);
    mnl_attr_put_u32(v4.header(), RTA_PREFSRC, htonl(rules::lo_address(handles)));
    return {give_lo_an_address(handles), v4.finish("make every IPv4 address local")};
}

Step make_v6_local()
{
    NetlinkRequest v6(RTM_NEWROUTE, adds);
    local_default(v6, AF_INET6);
    return v6.finish("make every IPv6 address local");
}

} // namespace anchorhold::net
