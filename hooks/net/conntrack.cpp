// SPDX-License-Identifier: Apache-2.0
#include "hooks/net/conntrack.hpp"

#include "hooks/net/netlink_request.hpp"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <libmnl/libmnl.h>
#include <netinet/in.h>

#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>

namespace anchorhold::net {
namespace {

// Finds an attribute, in a message behind its body or in a nest. nullptr without one.
const nlattr* find_in(const nlmsghdr* message, std::uint16_t type)
{
    const auto* at =
        static_cast<const nlattr*>(mnl_nlmsg_get_payload_offset(message, sizeof(nfgenmsg)));
    const auto* const end = static_cast<const char*>(mnl_nlmsg_get_payload_tail(message));
    for (; mnl_attr_ok(at, static_cast<int>(end - reinterpret_cast<const char*>(at)));
         at = mnl_attr_next(at)) {
        if (mnl_attr_get_type(at) == type)
            return at;
    }
    return nullptr;
}

const nlattr* find_in(const nlattr* nest, std::uint16_t type)
{
    if (nest == nullptr)
        return nullptr;
    const auto* at = static_cast<const nlattr*>(mnl_attr_get_payload(nest));
    const char* const end = reinterpret_cast<const char*>(at) + mnl_attr_get_payload_len(nest);
    for (; mnl_attr_ok(at, static_cast<int>(end - reinterpret_cast<const char*>(at)));
         at = mnl_attr_next(at)) {
        if (mnl_attr_get_type(at) == type)
            return at;
    }
    return nullptr;
}

Step forget(std::uint8_t family, const nlattr* original)
{
    NetlinkRequest request((NFNL_SUBSYS_CTNETLINK << 8) | IPCTNL_MSG_CT_DELETE, NLM_F_ACK);
    auto& body = request.add<nfgenmsg>();
    body.nfgen_family = family;
    body.version = NFNETLINK_V0;
    mnl_attr_put(request.header(), NLA_F_NESTED | CTA_TUPLE_ORIG,
                 mnl_attr_get_payload_len(original), mnl_attr_get_payload(original));
    return request.finish("end a connection");
}

} // namespace

Step find_connection(const Connection& connection)
{
    NetlinkRequest request((NFNL_SUBSYS_CTNETLINK << 8) | IPCTNL_MSG_CT_GET, NLM_F_ACK);
    auto& body = request.add<nfgenmsg>();
    body.nfgen_family = AF_INET;
    body.version = NFNETLINK_V0;
    nlmsghdr* const header = request.header();
    nlattr* const tuple = mnl_attr_nest_start(header, CTA_TUPLE_ORIG);
    nlattr* const addresses = mnl_attr_nest_start(header, CTA_TUPLE_IP);
    mnl_attr_put_u32(header, CTA_IP_V4_SRC, htonl(connection.from));
    mnl_attr_put_u32(header, CTA_IP_V4_DST, htonl(connection.to));
    mnl_attr_nest_end(header, addresses);
    nlattr* const protocol = mnl_attr_nest_start(header, CTA_TUPLE_PROTO);
    mnl_attr_put_u8(header, CTA_PROTO_NUM, IPPROTO_TCP);
    mnl_attr_put_u16(header, CTA_PROTO_SRC_PORT, htons(connection.from_port));
    mnl_attr_put_u16(header, CTA_PROTO_DST_PORT, htons(connection.to_port));
    mnl_attr_nest_end(header, protocol);
    mnl_attr_nest_end(header, tuple);
    return request.finish("ask for a tracked connection");
}

std::vector<Step> list_connections()
{
    std::vector<Step> steps;
    for (const int family : {AF_INET, AF_INET6}) {
        NetlinkRequest request((NFNL_SUBSYS_CTNETLINK << 8) | IPCTNL_MSG_CT_GET, NLM_F_DUMP);
        auto& body = request.add<nfgenmsg>();
        body.nfgen_family = static_cast<std::uint8_t>(family);
        body.version = NFNETLINK_V0;
        steps.push_back(request.finish("list the tracked connections"));
    }
    return steps;
}

Result<std::optional<Flow>> read_flow(const Message& message)
{
    const nlmsghdr* const header = header_of(message);
    const std::uint8_t family =
        static_cast<const nfgenmsg*>(mnl_nlmsg_get_payload(header))->nfgen_family;
    const nlattr* const original = find_in(header, CTA_TUPLE_ORIG);
    const nlattr* const reply = find_in(header, CTA_TUPLE_REPLY);
    const nlattr* const from =
        find_in(find_in(reply, CTA_TUPLE_IP), family == AF_INET ? CTA_IP_V4_SRC : CTA_IP_V6_SRC);
    const nlattr* const protocol = find_in(reply, CTA_TUPLE_PROTO);
    const nlattr* const number = find_in(protocol, CTA_PROTO_NUM);
    const nlattr* const port = find_in(protocol, CTA_PROTO_SRC_PORT);
    const std::size_t size = family == AF_INET ? sizeof(in_addr) : sizeof(in6_addr);
    if (original == nullptr || from == nullptr || number == nullptr ||
        mnl_attr_get_payload_len(from) != size)
        return fail(Code::network_setup_failed, "read a connection: broken attributes");
    const std::uint8_t which = mnl_attr_get_u8(number);
    if ((which != IPPROTO_TCP && which != IPPROTO_UDP) || port == nullptr)
        return std::nullopt;
    std::array<char, INET6_ADDRSTRLEN> text{};
    ::inet_ntop(family, mnl_attr_get_payload(from), text.data(), text.size());
    AH_TRY(const rules::Prefix to, rules::Prefix::parse(text.data(), Code::network_setup_failed),
           "read a connection");
    return Flow{to, ntohs(mnl_attr_get_u16(port)), which == IPPROTO_UDP, forget(family, original)};
}

Result<bool> is_tracked(Netlink& netfilter, const Connection& connection)
{
    const auto answers = netfilter.list(find_connection(connection));
    if (!answers && answers.error().number == ENOENT)
        return false;
    AH_CHECK(answers);
    return !answers->empty();
}

} // namespace anchorhold::net
