// SPDX-License-Identifier: Apache-2.0
// The kernel's answers to ask_route() when something stands in the way (rtnetlink(7)):
//
// - unreachable: EHOSTUNREACH from a route, ENETUNREACH from a rule
// - prohibit: EACCES
// - blackhole: EINVAL, which would also be the answer to a malformed request
// - throw: no answer; the kernel goes on with the next rule
//
// The kernel adds no words to these errors. Any error makes us refuse.
#include "hooks/net/routes.hpp"

#include "hooks/net/netlink_request.hpp"
#include "schema/run_key.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <libmnl/libmnl.h>

#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

namespace anchorhold::net {
namespace {

constexpr unsigned broadest = 8; // a route with a shorter prefix is a default route
constexpr unsigned whole_address = 32;
constexpr std::uint32_t no_suppression = 0xffffffff;

// Returns the body behind a message's header. Refuses a message of another type.
template <typename Body> Result<const Body*> body_of(const Message& message, std::uint16_t type)
{
    const nlmsghdr* const header = header_of(message);
    if (header->nlmsg_type != type || mnl_nlmsg_get_payload_len(header) < sizeof(Body))
        return fail(Code::network_setup_failed, "not the kernel's answer to what was asked");
    return static_cast<const Body*>(mnl_nlmsg_get_payload(header));
}

struct RouteAttributes {
    std::uint32_t to = 0;
    unsigned table = 0;
    unsigned link = 0;
    bool hop = false;
};

int keep_route_attribute(const nlattr* attribute, void* data)
{
    RouteAttributes& found = *static_cast<RouteAttributes*>(data);
    switch (mnl_attr_get_type(attribute)) {
    case RTA_DST:
        if (mnl_attr_validate(attribute, MNL_TYPE_U32) < 0)
            return MNL_CB_ERROR;
        found.to = ntohl(mnl_attr_get_u32(attribute));
        break;
    case RTA_TABLE:
        if (mnl_attr_validate(attribute, MNL_TYPE_U32) < 0)
            return MNL_CB_ERROR;
        found.table = mnl_attr_get_u32(attribute);
        break;
    case RTA_OIF:
        if (mnl_attr_validate(attribute, MNL_TYPE_U32) < 0)
            return MNL_CB_ERROR;
        found.link = mnl_attr_get_u32(attribute);
        break;
    case RTA_GATEWAY:
    case RTA_VIA:
    case RTA_MULTIPATH:
    case RTA_ENCAP: found.hop = true; break;
    default: break;
    }
    return MNL_CB_OK;
}

Result<RouteAttributes> attributes_of_route(const Message& message)
{
    RouteAttributes found;
    if (mnl_attr_parse(header_of(message), sizeof(rtmsg), keep_route_attribute, &found) < 0)
        return fail(Code::network_setup_failed, "broken attributes");
    return found;
}

bool sends_nowhere(std::uint8_t type)
{
    return type == RTN_BLACKHOLE || type == RTN_UNREACHABLE || type == RTN_PROHIBIT ||
           type == RTN_THROW;
}

// Keeps the attributes of a rule. An attribute that is not known here may narrow the rule down, so
// the rule is then not plain.
int keep_rule_attribute(const nlattr* attribute, void* data)
{
    RoutingRule& rule = *static_cast<RoutingRule*>(data);
    switch (mnl_attr_get_type(attribute)) {
    case FRA_TABLE:
    case FRA_SUPPRESS_PREFIXLEN:
        if (mnl_attr_validate(attribute, MNL_TYPE_U32) < 0)
            return MNL_CB_ERROR;
        if (mnl_attr_get_type(attribute) == FRA_TABLE) {
            rule.table = mnl_attr_get_u32(attribute);
        } else if (mnl_attr_get_u32(attribute) != no_suppression) {
            rule.plain = false;
        }
        break;
    case FRA_PRIORITY:
    case FRA_PROTOCOL:
    case FRA_PAD: break;
    default: rule.plain = false;
    }
    return MNL_CB_OK;
}

// Returns the place of the rule that sends every packet to that table, or rules.size() without one.
std::size_t plain_place(const std::vector<RoutingRule>& rules, unsigned table)
{
    const auto found = std::ranges::find(rules, RoutingRule{table, true});
    return static_cast<std::size_t>(found - rules.begin());
}

// The attributes that hold an address. Where both are there, IFA_LOCAL is the link's own: the
// IFA_ADDRESS of a point-to-point link is the other end's. Where there is only IFA_ADDRESS, as is
// usual for IPv6, that is the link's own.
struct AddressAttributes {
    const nlattr* address = nullptr;
    const nlattr* local = nullptr;
    std::string_view label; // of an IPv4 address: the link's name, unless somebody gave another
};

int keep_address_attribute(const nlattr* attribute, void* data)
{
    AddressAttributes& found = *static_cast<AddressAttributes*>(data);
    if (mnl_attr_get_type(attribute) == IFA_ADDRESS)
        found.address = attribute;
    if (mnl_attr_get_type(attribute) == IFA_LOCAL)
        found.local = attribute;
    if (mnl_attr_get_type(attribute) == IFA_LABEL &&
        mnl_attr_validate(attribute, MNL_TYPE_NUL_STRING) == 0)
        found.label = mnl_attr_get_str(attribute);
    return MNL_CB_OK;
}

// Returns what keeps packets from going straight over `link`; empty when nothing does.
std::string obstacle(const Result<RouteAnswer>& answer, unsigned link)
{
    if (!answer) {
        switch (answer.error().number) {
        case EINVAL: return "a blackhole takes them";
        case EACCES: return "a route or rule prohibits them";
        case ENETUNREACH:
        case EHOSTUNREACH: return "a route or rule makes the address unreachable";
        default: return answer.error().what;
        }
    }
    if (answer->type == RTN_LOCAL)
        return "the address is the host's own";
    if (answer->type != RTN_UNICAST)
        return "their route is of type " + std::to_string(answer->type);
    if (answer->hop)
        return "they go through a gateway, over link " + std::to_string(answer->link);
    if (answer->link != link)
        return "they go over link " + std::to_string(answer->link);
    return {};
}

} // namespace

Step list_routes()
{
    NetlinkRequest request(RTM_GETROUTE, NLM_F_DUMP);
    request.add<rtmsg>().rtm_family = AF_INET;
    return request.finish("list routes");
}

Result<std::optional<state::RoutedRange>> read_route(const Message& message)
{
    AH_TRY(const rtmsg* const route, body_of<rtmsg>(message, RTM_NEWROUTE), "read a route");
    if (route->rtm_family != AF_INET || (route->rtm_flags & RTM_F_CLONED) != 0 ||
        route->rtm_dst_len < broadest || sends_nowhere(route->rtm_type))
        return std::nullopt;
    AH_TRY(const RouteAttributes found, attributes_of_route(message), "read a route");
    return state::RoutedRange{found.to, route->rtm_dst_len, found.link};
}

Step list_routing_rules()
{
    NetlinkRequest request(RTM_GETRULE, NLM_F_DUMP);
    request.add<fib_rule_hdr>().family = AF_INET;
    return request.finish("list routing rules");
}

Result<RoutingRule> read_routing_rule(const Message& message)
{
    AH_TRY(const fib_rule_hdr* const about, body_of<fib_rule_hdr>(message, RTM_NEWRULE),
           "read a routing rule");
    RoutingRule rule;
    rule.plain = about->dst_len == 0 && about->src_len == 0 && about->tos == 0 &&
                 (about->flags & FIB_RULE_INVERT) == 0;
    if (mnl_attr_parse(header_of(message), sizeof(fib_rule_hdr), keep_rule_attribute, &rule) < 0)
        return fail(Code::network_setup_failed, "read a routing rule: broken attributes");
    if (about->action != FR_ACT_TO_TBL)
        rule.table = 0;
    return rule;
}

// Allows rules before `main` as long as each leads to one table: read_match() sees which table
// answered.
std::optional<std::vector<unsigned>> tables_to_list(const std::vector<RoutingRule>& rules)
{
    const std::size_t main = plain_place(rules, RT_TABLE_MAIN);
    if (main == rules.size() || plain_place(rules, RT_TABLE_LOCAL) > main)
        return std::nullopt;
    std::vector<unsigned> tables;
    for (const RoutingRule& rule : rules) {
        if (rule.table == 0)
            return std::nullopt;
        if (rule.table != RT_TABLE_MAIN && rule.table != RT_TABLE_LOCAL)
            tables.push_back(rule.table);
    }
    std::ranges::sort(tables);
    tables.erase(std::ranges::unique(tables).begin(), tables.end());
    return tables;
}

// A kernel without strict checks lists the routes of all tables, which is more than is needed.
Step list_routes_of(unsigned table)
{
    NetlinkRequest request(RTM_GETROUTE, NLM_F_DUMP);
    request.add<rtmsg>().rtm_family = AF_INET;
    mnl_attr_put_u32(request.header(), RTA_TABLE, table);
    return request.finish("list routes of table " + std::to_string(table));
}

Step match_route(std::uint32_t to)
{
    NetlinkRequest request(RTM_GETROUTE, NLM_F_ACK);
    auto& route = request.add<rtmsg>();
    route.rtm_family = AF_INET;
    route.rtm_dst_len = whole_address;
    route.rtm_flags = RTM_F_LOOKUP_TABLE | RTM_F_FIB_MATCH;
    mnl_attr_put_u32(request.header(), RTA_DST, htonl(to));
    return request.finish("match the route to " + rules::dotted(to));
}

// Reads three kinds of answers.
//
// 1. ENETUNREACH: the kernel asked every table, and none has a route. The errno of a null route is
//    another one, and it is no such answer.
// 2. A range: it is known only if `local` or `main` gave it.
// 3. A default route, which is no range: it counts as known only if `main` gave it. A default route
//    in `local` would hide `main`. If the kernel keeps both in one table, it says `main`.
RouteMatch read_match(const Result<std::vector<Message>>& answers)
{
    if (!answers)
        return {.known = answers.error().number == ENETUNREACH, .range = {}};
    if (answers->empty())
        return {};
    const Message& answer = answers->front();
    const auto range = read_route(answer);
    const auto route = body_of<rtmsg>(answer, RTM_NEWROUTE);
    const auto found = attributes_of_route(answer);
    if (!range || !route || !found)
        return {};
    if (*range)
        return {found->table == RT_TABLE_MAIN || found->table == RT_TABLE_LOCAL, *range};
    return {found->table == RT_TABLE_MAIN && (*route)->rtm_dst_len < broadest &&
                ((*route)->rtm_flags & RTM_F_CLONED) == 0,
            std::nullopt};
}

Step list_addresses()
{
    NetlinkRequest request(RTM_GETADDR, NLM_F_DUMP);
    request.add<ifaddrmsg>().ifa_family = AF_UNSPEC;
    return request.finish("list addresses");
}

Step list_addresses_of(unsigned link)
{
    NetlinkRequest request(RTM_GETADDR, NLM_F_DUMP);
    auto& body = request.add<ifaddrmsg>();
    body.ifa_family = AF_UNSPEC;
    body.ifa_index = link;
    return request.finish("list the addresses of link " + std::to_string(link));
}

bool is_on(const Message& message, unsigned link)
{
    const auto about = body_of<ifaddrmsg>(message, RTM_NEWADDR);
    return about && (*about)->ifa_index == link;
}

Result<std::optional<rules::Prefix>> read_address(const Message& message)
{
    AH_TRY(const ifaddrmsg* const about, body_of<ifaddrmsg>(message, RTM_NEWADDR),
           "read an address");
    AddressAttributes found;
    if (mnl_attr_parse(header_of(message), sizeof(ifaddrmsg), keep_address_attribute, &found) < 0)
        return fail(Code::network_setup_failed, "read an address: broken attributes");
    const nlattr* const own = found.local != nullptr ? found.local : found.address;
    const std::size_t size = about->ifa_family == AF_INET ? sizeof(in_addr) : sizeof(in6_addr);
    if (own == nullptr || (about->ifa_family != AF_INET && about->ifa_family != AF_INET6))
        return std::nullopt;
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (mnl_attr_get_payload_len(own) != size ||
        ::inet_ntop(about->ifa_family, mnl_attr_get_payload(own), text.data(), text.size()) ==
            nullptr)
        return fail(Code::network_setup_failed, "read an address: of the wrong size");
    AH_TRY(const rules::Prefix address,
           rules::Prefix::parse(text.data(), Code::network_setup_failed), "read an address");
    return address;
}

bool is_gateway(const Message& message, const rules::Prefix& pool)
{
    const auto about = body_of<ifaddrmsg>(message, RTM_NEWADDR);
    AddressAttributes found;
    if (!about || (*about)->ifa_family != AF_INET ||
        mnl_attr_parse(header_of(message), sizeof(ifaddrmsg), keep_address_attribute, &found) < 0 ||
        found.local == nullptr || mnl_attr_validate(found.local, MNL_TYPE_U32) < 0)
        return false;
    constexpr std::size_t prefix = 2; // letters that link_name() puts before the key
    const auto key = RunKey::parse(found.label.substr(std::min(prefix, found.label.size())));
    const std::uint32_t address = ntohl(mnl_attr_get_u32(found.local));
    const state::RoutedRange range = state::RoutedRange::of(pool);
    return key && rules::link_name(key->text()) == found.label && range.base <= address &&
           address <= range.last();
}

// The request asks for an acknowledgement, which ends the list of one answer.
Step ask_route(std::uint32_t from, std::uint32_t to, unsigned link)
{
    NetlinkRequest request(RTM_GETROUTE, NLM_F_ACK);
    auto& route = request.add<rtmsg>();
    route.rtm_family = AF_INET;
    route.rtm_dst_len = whole_address;
    route.rtm_src_len = whole_address;
    route.rtm_flags = RTM_F_LOOKUP_TABLE;
    mnl_attr_put_u32(request.header(), RTA_DST, htonl(to));
    mnl_attr_put_u32(request.header(), RTA_SRC, htonl(from));
    if (link != 0)
        mnl_attr_put_u32(request.header(), RTA_IIF, link);
    return request.finish("ask for the route from " + rules::dotted(from) + " to " +
                          rules::dotted(to));
}

bool is_no_route(int number)
{
    return number == ENETUNREACH || number == EHOSTUNREACH || number == EACCES || number == EINVAL;
}

Result<RouteAnswer> read_answer(const Message& message)
{
    AH_TRY(const rtmsg* const route, body_of<rtmsg>(message, RTM_NEWROUTE), "read a route");
    AH_TRY(const RouteAttributes found, attributes_of_route(message), "read a route");
    return RouteAnswer{route->rtm_type, found.link, found.hop};
}

Status judge_route(const Result<RouteAnswer>& answer, const rules::Subnet& subnet, unsigned link)
{
    const std::string found = obstacle(answer, link);
    if (found.empty())
        return {};
    const std::string from = rules::dotted(subnet.gateway());
    const std::string to = rules::dotted(subnet.inside());
    return std::unexpected(Error{Code::network_setup_failed, answer ? 0 : answer.error().number,
                                 "packets from " + from + " to " + to + " would not go over link " +
                                     std::to_string(link) + ": " + found + " (ip route get " + to +
                                     " from " + from + ")"});
}

} // namespace anchorhold::net
