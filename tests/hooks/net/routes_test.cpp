// SPDX-License-Identifier: Apache-2.0
#include "hooks/net/routes.hpp"

#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <libmnl/libmnl.h>

#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

namespace anchorhold::routes_test {

using namespace net;
using namespace rules;
using namespace state;
namespace {

const Subnet a_subnet{0xc6120000};
constexpr unsigned own = 7; // index of the link

// A route as the kernel tells it.
struct ToolOutput {
    std::uint32_t to = 0;
    std::uint8_t length = 24;
    std::uint8_t type = RTN_UNICAST;
    unsigned link = own;
    std::uint16_t further = 0; // one more attribute
    unsigned flags = 0;
    std::uint8_t family = AF_INET;
    unsigned table = 4000;
};

Message route_message(const ToolOutput& told)
{
    alignas(nlmsghdr) std::array<char, 512> buffer{};
    nlmsghdr* header = mnl_nlmsg_put_header(buffer.data());
    header->nlmsg_type = RTM_NEWROUTE;
    auto* body = static_cast<rtmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(rtmsg)));
    body->rtm_family = told.family;
    body->rtm_dst_len = told.length;
    body->rtm_type = told.type;
    body->rtm_flags = told.flags;
    mnl_attr_put_u32(header, RTA_TABLE, told.table);
    if (told.length != 0)
        mnl_attr_put_u32(header, RTA_DST, htonl(told.to));
    if (told.link != 0)
        mnl_attr_put_u32(header, RTA_OIF, told.link);
    if (told.further != 0)
        mnl_attr_put_u32(header, told.further, htonl(0x0a000001));
    const auto* bytes = reinterpret_cast<const std::byte*>(header);
    return {bytes, bytes + header->nlmsg_len};
}

std::optional<RoutedRange> range_of(const ToolOutput& told)
{
    const auto range = read_route(route_message(told));
    REQUIRE(range);
    return *range;
}

RouteAnswer answer_of(const ToolOutput& told)
{
    const auto answer = read_answer(route_message(told));
    REQUIRE(answer);
    return *answer;
}

std::string judged(const Result<RouteAnswer>& answer)
{
    const Status verdict = judge_route(answer, a_subnet, own);
    if (verdict)
        return "good";
    CHECK(verdict.error().code == Code::network_setup_failed);
    return verdict.error().what;
}

std::string refused_with(int number)
{
    return judged(fail_errno("ask for the route", number));
}

std::string sentence(const std::string& why)
{
    return "packets from 198.18.0.1 to 198.18.0.2 would not go over link 7: " + why +
           " (ip route get 198.18.0.2 from 198.18.0.1)";
}

// An address as the kernel tells it.
struct ToldAddress {
    std::uint8_t family = AF_INET;
    const char* address = nullptr;
    const char* local = nullptr;
    const char* label = "eth0";
};

void put_address(nlmsghdr* header, std::uint16_t type, const ToldAddress& told, const char* text)
{
    std::array<std::byte, sizeof(in6_addr)> bytes{};
    if (text != nullptr && ::inet_pton(told.family, text, bytes.data()) == 1)
        mnl_attr_put(header, type, told.family == AF_INET ? 4 : 16, bytes.data());
}

Message address_message(const ToldAddress& told)
{
    alignas(nlmsghdr) std::array<char, 512> buffer{};
    nlmsghdr* header = mnl_nlmsg_put_header(buffer.data());
    header->nlmsg_type = RTM_NEWADDR;
    auto* body = static_cast<ifaddrmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(ifaddrmsg)));
    body->ifa_family = told.family;
    body->ifa_prefixlen = 24;
    put_address(header, IFA_ADDRESS, told, told.address);
    put_address(header, IFA_LOCAL, told, told.local);
    mnl_attr_put_strz(header, IFA_LABEL, told.label);
    const auto* bytes = reinterpret_cast<const std::byte*>(header);
    return {bytes, bytes + header->nlmsg_len};
}

std::string address_of(const ToldAddress& told)
{
    const auto address = read_address(address_message(told));
    REQUIRE(address);
    return *address ? (*address)->text() : "none";
}

RouteMatch match_of(const ToolOutput& told)
{
    return read_match(std::vector<Message>(1, route_message(told)));
}

RouteMatch match_refused_with(int number)
{
    return read_match(fail_errno("match the route", number));
}

} // namespace

TEST_CASE("a route takes its range, whatever its table: of other hosts, of the host, of nobody yet")
{
    for (const std::uint8_t type : {RTN_UNICAST, RTN_LOCAL, RTN_BROADCAST, RTN_ANYCAST})
        CHECK(range_of({.to = 0x0a000000, .length = 8, .type = type}) ==
              RoutedRange{0x0a000000, 8, own});
    CHECK(range_of({.to = 0xc6120001, .length = 32}) == RoutedRange{0xc6120001, 32, own});
    CHECK(range_of({.to = 0xac100000, .length = 12, .link = 0, .further = RTA_MULTIPATH}) ==
          RoutedRange{0xac100000, 12, 0});
}

TEST_CASE("a route that sends nowhere takes nothing")
{
    for (const std::uint8_t type : {RTN_BLACKHOLE, RTN_UNREACHABLE, RTN_PROHIBIT, RTN_THROW})
        CHECK(!range_of({.to = 0x0a000000, .length = 24, .type = type}));
}

TEST_CASE("a route broader than a /8 is a default")
{
    CHECK(!range_of({.length = 0}));
    CHECK(!range_of({.to = 0x80000000, .length = 1}));
    CHECK(!range_of({.to = 0x0a000000, .length = 7}));
    CHECK(range_of({.to = 0x0a000000, .length = 8}));
}

TEST_CASE("what is cached, or IPv6, is no route of the list")
{
    CHECK(!range_of({.to = 0x0a000000, .flags = RTM_F_CLONED}));
    CHECK(!range_of({.to = 0x0a000000, .family = AF_INET6}));
}

TEST_CASE("a message of another type or a broken one is an error, not an absence")
{
    Message other = route_message({});
    reinterpret_cast<nlmsghdr*>(other.data())->nlmsg_type = RTM_DELROUTE;
    CHECK(!read_route(other));
    CHECK(!read_answer(other));
    CHECK(!read_address(other));
    Message cut = route_message({});
    reinterpret_cast<nlmsghdr*>(cut.data())->nlmsg_len = sizeof(nlmsghdr) + 4;
    CHECK(!read_route(cut));
    Message narrow = route_message({.link = 0, .further = RTA_OIF});
    auto* body = mnl_nlmsg_get_payload_offset(header_of(narrow), sizeof(rtmsg));
    static_cast<nlattr*>(body)->nla_type = RTA_DST;
    static_cast<nlattr*>(body)->nla_len = MNL_ATTR_HDRLEN + 2;
    CHECK(!read_route(narrow));
    CHECK(!read_answer(narrow));
}

TEST_CASE("the answer is good when it goes straight over the run's own link")
{
    CHECK(answer_of({.to = 0xc6120002, .length = 32}) == RouteAnswer{RTN_UNICAST, own, false});
    CHECK(judged(RouteAnswer{RTN_UNICAST, own, false}) == "good");
}

TEST_CASE("a local shadow, another device and a gateway are refused, and named")
{
    const RouteAnswer local = answer_of({.length = 32, .type = RTN_LOCAL, .link = 1});
    CHECK(judged(local) == sentence("the address is the host's own"));
    CHECK(judged(RouteAnswer{RTN_LOCAL, own, false}) == sentence("the address is the host's own"));
    CHECK(judged(RouteAnswer{RTN_UNICAST, 9, false}) == sentence("they go over link 9"));
    CHECK(judged(RouteAnswer{RTN_BROADCAST, own, false}) == sentence("their route is of type 3"));
    CHECK(judged(RouteAnswer{}) == sentence("their route is of type 0"));
    for (const std::uint16_t hop : {RTA_GATEWAY, RTA_VIA, RTA_MULTIPATH, RTA_ENCAP})
        CHECK(judged(answer_of({.length = 32, .further = hop})) ==
              sentence("they go through a gateway, over link 7"));
}

TEST_CASE("a route or rule that discards is refused, and named by what the kernel says")
{
    CHECK(refused_with(EINVAL) == sentence("a blackhole takes them"));
    CHECK(refused_with(EACCES) == sentence("a route or rule prohibits them"));
    const std::string unreachable = sentence("a route or rule makes the address unreachable");
    CHECK(refused_with(ENETUNREACH) == unreachable);
    CHECK(refused_with(EHOSTUNREACH) == unreachable);
    CHECK(refused_with(ENODEV) == sentence("ask for the route: no such device (ENODEV)"));
    CHECK(judged(fail(Code::network_setup_failed, "no answer")) == sentence("no answer"));
}

TEST_CASE("the route is asked for from one address to one address")
{
    const Step step = ask_route(a_subnet.gateway(), a_subnet.inside());
    CHECK(step.doing == "ask for the route from 198.18.0.1 to 198.18.0.2");
    const nlmsghdr* header = header_of(step.message);
    CHECK(header->nlmsg_type == RTM_GETROUTE);
    CHECK(header->nlmsg_flags == (NLM_F_REQUEST | NLM_F_ACK));
    struct {
        rtmsg body = {};
        std::uint16_t to_size = 8, to = RTA_DST;
        std::array<std::uint8_t, 4> to_address{198, 18, 0, 2};
        std::uint16_t from_size = 8, from = RTA_SRC;
        std::array<std::uint8_t, 4> from_address{198, 18, 0, 1};
    } wanted;
    wanted.body.rtm_family = AF_INET;
    wanted.body.rtm_dst_len = wanted.body.rtm_src_len = 32;
    wanted.body.rtm_flags = RTM_F_LOOKUP_TABLE;
    REQUIRE(step.message.size() == sizeof(nlmsghdr) + sizeof wanted);
    CHECK(std::memcmp(step.message.data() + sizeof(nlmsghdr), &wanted, sizeof wanted) == 0);
}

TEST_CASE("the lists are of every table's IPv4 routes, and of every link's addresses")
{
    const Step routes = list_routes();
    CHECK(header_of(routes.message)->nlmsg_type == RTM_GETROUTE);
    CHECK(header_of(routes.message)->nlmsg_flags == (NLM_F_REQUEST | NLM_F_DUMP));
    CHECK(routes.message.size() == sizeof(nlmsghdr) + sizeof(rtmsg)); // no filter
    CHECK(static_cast<const rtmsg*>(mnl_nlmsg_get_payload(header_of(routes.message)))->rtm_family ==
          AF_INET);
    const Step addresses = list_addresses();
    CHECK(header_of(addresses.message)->nlmsg_type == RTM_GETADDR);
    CHECK(header_of(addresses.message)->nlmsg_flags == (NLM_F_REQUEST | NLM_F_DUMP));
    CHECK(addresses.message.size() == sizeof(nlmsghdr) + sizeof(ifaddrmsg));
}

TEST_CASE("an address is the link's own, not the one at the other end")
{
    CHECK(address_of({AF_INET, "10.0.0.1", "10.0.0.1"}) == "10.0.0.1/32");
    CHECK(address_of({AF_INET, "10.0.0.2", "10.0.0.1"}) == "10.0.0.1/32");
    CHECK(address_of({AF_INET6, "fe80::1", nullptr}) == "fe80::1/128");
    CHECK(address_of({AF_INET6, "fd00::2", "fd00::1"}) == "fd00::1/128");
    CHECK(address_of({AF_MPLS, nullptr, nullptr}) == "none");
    CHECK(address_of({AF_INET, nullptr, nullptr}) == "none");
}

TEST_CASE("a run's gateway is told by its link's name and its pool")
{
    const auto pool = Prefix::parse("198.18.0.0/15", Code::invalid_policy);
    REQUIRE(pool);
    const auto gateway = [&pool](const char* address, const char* link) {
        return is_gateway(address_message({AF_INET, address, address, link}), *pool);
    };
    CHECK(gateway("198.18.0.1", "ah0123456789ab"));
    CHECK(gateway("198.19.255.253", "ah0123456789ab"));
    CHECK(!gateway("198.20.0.1", "ah0123456789ab")); // it is of another pool
    CHECK(!gateway("198.17.255.253", "ah0123456789ab"));
    for (const char* link :
         {"eth0", "ah", "", "ah0123456789a", "xx0123456789ab", "ah0123456789abc"})
        CHECK(!gateway("198.18.0.1", link));
    CHECK(!is_gateway(address_message({AF_INET, "198.18.0.1", nullptr, "ah0123456789ab"}), *pool));
    CHECK(!is_gateway(address_message({AF_INET6, "fe80::1", "fe80::1", "ah0123456789ab"}), *pool));
    CHECK(!is_gateway(route_message({}), *pool));
}

TEST_CASE("an address of the wrong size is an error")
{
    Message message = address_message({AF_INET6, "fe80::1", nullptr});
    auto* body = static_cast<ifaddrmsg*>(mnl_nlmsg_get_payload(header_of(message)));
    body->ifa_family = AF_INET;
    CHECK(!read_address(message));
}

TEST_CASE("a match tells the range, and no route is an answer")
{
    CHECK(match_of({.to = 0x0a000000, .length = 8, .table = RT_TABLE_MAIN}) ==
          RouteMatch{true, RoutedRange{0x0a000000, 8, own}});
    CHECK(match_of({.to = 0xc6120001, .length = 32, .type = RTN_LOCAL, .table = RT_TABLE_LOCAL}) ==
          RouteMatch{true, RoutedRange{0xc6120001, 32, own}});
    CHECK(match_of({.length = 0, .table = RT_TABLE_MAIN}) == RouteMatch{true, std::nullopt});
    CHECK(match_refused_with(ENETUNREACH) == RouteMatch{true, std::nullopt});
}

TEST_CASE("a match that hides other routes is no answer")
{
    CHECK(!match_of({.to = 0x0a000000, .length = 8, .table = 4000}).known);
    CHECK(!match_of({.length = 0, .table = 51820}).known);
    CHECK(!match_of({.length = 0, .type = RTN_LOCAL, .table = RT_TABLE_LOCAL}).known);
    CHECK(!match_of({.length = 24, .type = RTN_BLACKHOLE, .table = RT_TABLE_MAIN}).known);
    for (const int number : {EINVAL, EACCES, EHOSTUNREACH, EPERM})
        CHECK(!match_refused_with(number).known);
    // A kernel that does not know matches answers with the route of that one packet.
    CHECK(!match_of({.length = 32, .flags = RTM_F_CLONED, .table = RT_TABLE_MAIN}).known);
    CHECK(!match_of({.length = 0, .flags = RTM_F_CLONED, .table = RT_TABLE_MAIN}).known);
    CHECK(!read_match(std::vector<Message>()).known);
    CHECK(!read_match(std::vector<Message>(1, address_message({}))).known);
}

TEST_CASE("a match is asked for of one address, a list of one table")
{
    const Step match = match_route(0xc6120002);
    CHECK(match.doing == "match the route to 198.18.0.2");
    CHECK(header_of(match.message)->nlmsg_flags == (NLM_F_REQUEST | NLM_F_ACK));
    struct {
        rtmsg body = {};
        std::uint16_t size = 8, type = RTA_DST;
        std::array<std::uint8_t, 4> value{198, 18, 0, 2};
    } wanted;
    wanted.body.rtm_family = AF_INET;
    wanted.body.rtm_dst_len = 32;
    wanted.body.rtm_flags = RTM_F_LOOKUP_TABLE | RTM_F_FIB_MATCH;
    REQUIRE(match.message.size() == sizeof(nlmsghdr) + sizeof wanted);
    CHECK(std::memcmp(match.message.data() + sizeof(nlmsghdr), &wanted, sizeof wanted) == 0);
    const Step list = list_routes_of(0x01020304);
    CHECK(list.doing == "list routes of table 16909060");
    CHECK(header_of(list.message)->nlmsg_flags == (NLM_F_REQUEST | NLM_F_DUMP));
    wanted.body.rtm_dst_len = 0;
    wanted.body.rtm_flags = 0;
    wanted.type = RTA_TABLE;
    wanted.value = {4, 3, 2, 1}; // little-endian
    REQUIRE(list.message.size() == sizeof(nlmsghdr) + sizeof wanted);
    CHECK(std::memcmp(list.message.data() + sizeof(nlmsghdr), &wanted, sizeof wanted) == 0);
}

} // namespace anchorhold::routes_test
