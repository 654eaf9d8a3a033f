// SPDX-License-Identifier: Apache-2.0
#include "hooks/net/uplinks.hpp"

#include "hooks/net/netlink_request.hpp"

#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <array>
#include <libmnl/libmnl.h>

#include <linux/rtnetlink.h>

namespace anchorhold::uplinks_test {

using namespace net;
using namespace rules;
namespace {

using Links = std::vector<unsigned>;

std::vector<Reach> allowing(const std::vector<std::string>& texts)
{
    std::vector<Reach> allow;
    for (const std::string& text : texts) {
        const auto to = Prefix::parse(text, Code::invalid_policy);
        REQUIRE(to);
        allow.push_back(Reach{*to, {}});
    }
    return allow;
}

// A route over the links 3, or 3 and 4 by two hops.
Message told(std::uint32_t to, std::uint8_t length, std::size_t hops, std::uint8_t type)
{
    NetlinkRequest request(RTM_NEWROUTE, 0);
    auto& route = request.add<rtmsg>();
    route.rtm_family = AF_INET;
    route.rtm_dst_len = length;
    route.rtm_type = type;
    if (length != 0)
        mnl_attr_put_u32(request.header(), RTA_DST, htonl(to));
    std::array<rtnexthop, 2> both{};
    both[0].rtnh_len = both[1].rtnh_len = sizeof(rtnexthop);
    both[0].rtnh_ifindex = 3;
    both[1].rtnh_ifindex = 4;
    if (hops == 2)
        mnl_attr_put(request.header(), RTA_MULTIPATH, sizeof both, both.data());
    else
        mnl_attr_put_u32(request.header(), RTA_OIF, 3);
    return request.finish("").message;
}

Links links(const Message& message, const std::vector<std::string>& allow)
{
    const auto found = links_of_route(message, allowing(allow));
    REQUIRE(found);
    return *found;
}

} // namespace

TEST_CASE("a link is an uplink when a route over it meets the allow list")
{
    const Message standard = told(0, 0, 1, RTN_UNICAST);
    const Message ten = told(0x0a010000, 16, 1, RTN_UNICAST);
    CHECK(links(standard, {"1.1.1.1"}) == Links{3});
    CHECK(links(ten, {"1.1.1.1"}) == Links{});
    CHECK(links(ten, {"1.1.1.1", "10.1.255.255"}) == Links{3});
    CHECK(links(ten, {"10.2.0.0"}) == Links{});
    CHECK(links(ten, {"10.0.0.0/8"}) == Links{3});      // a part of what is allowed lies behind it
    CHECK(links(standard, {"2001:db8::1"}) == Links{}); // a link of ours has no way there
    CHECK(links(standard, {}) == Links{});
}

TEST_CASE("all hops of a route count, and a route that leads nowhere or to the host does not")
{
    CHECK(links(told(0, 0, 2, RTN_UNICAST), {"1.1.1.1"}) == Links{3, 4});
    for (const std::uint8_t type : {RTN_LOCAL, RTN_BLACKHOLE, RTN_UNREACHABLE, RTN_BROADCAST})
        CHECK(links(told(0, 0, 1, type), {"1.1.1.1"}) == Links{});
    CHECK_FALSE(links_of_route(NetlinkRequest(RTM_NEWLINK, 0).finish("").message, {}));
}

} // namespace anchorhold::uplinks_test
