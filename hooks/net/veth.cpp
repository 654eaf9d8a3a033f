// SPDX-License-Identifier: Apache-2.0
// IPv6 is taken from a link by a message of its own, while the link is down. The message that makes
// the link cannot do it (EAFNOSUPPORT). The message that sets IFF_UP cannot do it either: the
// kernel sets the flag first, and the end that comes up second gets its fe80:: address.
#include "hooks/net/veth.hpp"

#include "hooks/net/netlink_request.hpp"

#include <arpa/inet.h>
#include <array>
#include <libmnl/libmnl.h>
#include <net/if.h>

#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>

namespace anchorhold::net {
namespace {

constexpr std::uint8_t subnet_length = 30;
constexpr std::size_t mac_size = 6;

void put_name(nlmsghdr* header, std::string_view name)
{
    mnl_attr_put_strz(header, IFLA_IFNAME, std::string(name.substr(0, IFNAMSIZ - 1)).c_str());
}

std::uint8_t nibble(char digit)
{
    const std::size_t value = std::string_view("0123456789abcdef").find(digit);
    return static_cast<std::uint8_t>(value & 0xf); // npos, when it is no digit, becomes 15
}

// Makes a MAC that is locally administered (bit 0x02) and of one station (bit 0x01 is 0). The two
// ends differ in bit 0x04.
std::array<std::uint8_t, mac_size> mac_bytes(std::string_view name, End end)
{
    std::string digits(name.substr(std::min<std::size_t>(2, name.size())));
    digits.resize(mac_size * 2, '0');
    std::array<std::uint8_t, mac_size> mac{};
    for (std::size_t i = 0; i < mac_size; ++i) {
        mac[i] =
            static_cast<std::uint8_t>((nibble(digits[2 * i]) << 4) | nibble(digits[2 * i + 1]));
    }
    mac[0] = static_cast<std::uint8_t>((mac[0] & 0xf8) | (end == End::host ? 0x02 : 0x06));
    return mac;
}

void put_mac(nlmsghdr* header, std::string_view name, End end)
{
    const auto mac = mac_bytes(name, end);
    mnl_attr_put(header, IFLA_ADDRESS, mac.size(), mac.data());
}

void put_peer(nlmsghdr* header, std::string_view name, std::string_view peer, int netns)
{
    nlattr* const info = mnl_attr_nest_start(header, IFLA_LINKINFO);
    mnl_attr_put_strz(header, IFLA_INFO_KIND, "veth");
    nlattr* const data = mnl_attr_nest_start(header, IFLA_INFO_DATA);
    nlattr* const inside = mnl_attr_nest_start(header, VETH_INFO_PEER);
    mnl_nlmsg_put_extra_header(header, sizeof(ifinfomsg));
    put_name(header, peer);
    put_mac(header, name, End::inside);
    mnl_attr_put_u32(header, IFLA_NET_NS_FD, static_cast<std::uint32_t>(netns));
    mnl_attr_nest_end(header, inside);
    mnl_attr_nest_end(header, data);
    mnl_attr_nest_end(header, info);
}

void put_no_ipv6(nlmsghdr* header)
{
    nlattr* const families = mnl_attr_nest_start(header, IFLA_AF_SPEC);
    nlattr* const ipv6 = mnl_attr_nest_start(header, AF_INET6);
    mnl_attr_put_u8(header, IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE);
    mnl_attr_nest_end(header, ipv6);
    mnl_attr_nest_end(header, families);
}

std::string number(unsigned link)
{
    return "link " + std::to_string(link);
}

} // namespace

std::vector<Step> make_veth(std::string_view name, std::string_view peer, int netns,
                            const std::string& alias)
{
    NetlinkRequest pair(RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
    pair.add<ifinfomsg>();
    put_name(pair.header(), name);
    put_mac(pair.header(), name, End::host);
    put_peer(pair.header(), name, peer, netns);
    NetlinkRequest mode(RTM_NEWLINK, NLM_F_ACK);
    mode.add<ifinfomsg>();
    put_name(mode.header(), name);
    put_no_ipv6(mode.header());
    if (!alias.empty()) // the kernel takes no alias when it makes a link
        mnl_attr_put_strz(mode.header(), IFLA_IFALIAS, alias.c_str());
    return {pair.finish("make link " + printable(name)),
            mode.finish("keep link " + printable(name) + " without IPv6")};
}

Step without_ipv6(unsigned link)
{
    NetlinkRequest mode(RTM_NEWLINK, NLM_F_ACK);
    mode.add<ifinfomsg>().ifi_index = static_cast<int>(link);
    put_no_ipv6(mode.header());
    return mode.finish("keep " + number(link) + " without IPv6");
}

Step add_address(unsigned link, std::uint32_t address)
{
    NetlinkRequest request(RTM_NEWADDR, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
    auto& body = request.add<ifaddrmsg>();
    body.ifa_family = AF_INET;
    body.ifa_prefixlen = subnet_length;
    body.ifa_scope = RT_SCOPE_UNIVERSE;
    body.ifa_index = link;
    mnl_attr_put_u32(request.header(), IFA_LOCAL, htonl(address));
    mnl_attr_put_u32(request.header(), IFA_ADDRESS, htonl(address));
    return request.finish("give " + number(link) + " its address");
}

Step add_neighbour(unsigned link, std::uint32_t address, std::string_view name, End end)
{
    NetlinkRequest request(RTM_NEWNEIGH, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE);
    auto& body = request.add<ndmsg>();
    body.ndm_family = AF_INET;
    body.ndm_ifindex = static_cast<int>(link);
    body.ndm_state = NUD_PERMANENT;
    const auto mac = mac_bytes(name, end);
    mnl_attr_put_u32(request.header(), NDA_DST, htonl(address));
    mnl_attr_put(request.header(), NDA_LLADDR, mac.size(), mac.data());
    return request.finish("name the neighbour on " + number(link));
}

Step add_default_route(unsigned link, std::uint32_t gateway)
{
    NetlinkRequest request(RTM_NEWROUTE, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
    auto& body = request.add<rtmsg>();
    body.rtm_family = AF_INET;
    body.rtm_table = RT_TABLE_MAIN;
    body.rtm_protocol = RTPROT_STATIC;
    body.rtm_scope = RT_SCOPE_UNIVERSE;
    body.rtm_type = RTN_UNICAST;
    mnl_attr_put_u32(request.header(), RTA_GATEWAY, htonl(gateway));
    mnl_attr_put_u32(request.header(), RTA_OIF, link);
    return request.finish("add the default route over " + number(link));
}

std::string mac_of(std::string_view name, End end)
{
    return text_of_mac(mac_bytes(name, end));
}

} // namespace anchorhold::net
