// SPDX-License-Identifier: Apache-2.0
#include "hooks/net/conntrack.hpp"

#include "hooks/net/netlink_request.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <libmnl/libmnl.h>
#include <netinet/in.h>

#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>

namespace anchorhold::net {

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

Result<bool> is_tracked(Netlink& netfilter, const Connection& connection)
{
    const auto answers = netfilter.list(find_connection(connection));
    if (!answers && answers.error().number == ENOENT)
        return false;
    AH_CHECK(answers);
    return !answers->empty();
}

} // namespace anchorhold::net
