// SPDX-License-Identifier: Apache-2.0
#include "hooks/net/links.hpp"

#include "hooks/net/netlink_request.hpp"

#include <algorithm>
#include <libmnl/libmnl.h>
#include <net/if.h>

#include <linux/if_link.h>
#include <linux/rtnetlink.h>

namespace anchorhold::net {
namespace {

constexpr unsigned first_link = 1; // LOOPBACK_IFINDEX in the kernel's include/net/flow.h

Step link_request(std::string doing, std::uint16_t type, unsigned flags, const ifinfomsg& about,
                  std::string_view name = {})
{
    NetlinkRequest request(type, flags);
    request.add<ifinfomsg>() = about;
    if (const std::string text(name.substr(0, IFNAMSIZ - 1)); !text.empty())
        mnl_attr_put_strz(request.header(), IFLA_IFNAME, text.c_str());
    return request.finish(std::move(doing));
}

ifinfomsg about(const Link& link)
{
    ifinfomsg body = {};
    body.ifi_family = AF_UNSPEC;
    body.ifi_index = static_cast<int>(link.index);
    return body;
}

int keep_kind(const nlattr* attribute, void* data)
{
    if (mnl_attr_get_type(attribute) == IFLA_INFO_KIND &&
        mnl_attr_validate(attribute, MNL_TYPE_NUL_STRING) == 0)
        static_cast<Link*>(data)->kind = mnl_attr_get_str(attribute);
    return MNL_CB_OK;
}

int keep_attribute(const nlattr* attribute, void* data)
{
    Link& link = *static_cast<Link*>(data);
    switch (mnl_attr_get_type(attribute)) {
    case IFLA_IFNAME:
        if (mnl_attr_validate(attribute, MNL_TYPE_NUL_STRING) == 0)
            link.name = mnl_attr_get_str(attribute);
        break;
    case IFLA_ADDRESS: {
        const auto* const bytes = static_cast<const std::uint8_t*>(mnl_attr_get_payload(attribute));
        link.mac = text_of_mac({bytes, mnl_attr_get_payload_len(attribute)});
        break;
    }
    case IFLA_IFALIAS:
        if (mnl_attr_validate(attribute, MNL_TYPE_NUL_STRING) == 0)
            link.alias = mnl_attr_get_str(attribute);
        break;
    case IFLA_LINK:
    case IFLA_MASTER:
        if (mnl_attr_validate(attribute, MNL_TYPE_U32) < 0)
            break;
        (mnl_attr_get_type(attribute) == IFLA_LINK ? link.peer : link.master) =
            mnl_attr_get_u32(attribute);
        break;
    case IFLA_LINKINFO: return mnl_attr_parse_nested(attribute, keep_kind, &link);
    default: break;
    }
    return MNL_CB_OK;
}

} // namespace

bool Link::is_loopback() const
{
    return index == first_link;
}

Step list_links()
{
    return link_request("list links", RTM_GETLINK, NLM_F_DUMP, {});
}

Result<Link> read_link(const Message& message)
{
    const nlmsghdr* const header = header_of(message);
    if (header->nlmsg_type != RTM_NEWLINK || mnl_nlmsg_get_payload_len(header) < sizeof(ifinfomsg))
        return fail(Code::network_setup_failed, "read a link: not a link's message");
    const auto* const body = static_cast<const ifinfomsg*>(mnl_nlmsg_get_payload(header));
    Link link;
    link.index = static_cast<unsigned>(body->ifi_index);
    link.type = body->ifi_type;
    link.up = (body->ifi_flags & IFF_UP) != 0;
    if (mnl_attr_parse(header, sizeof(ifinfomsg), keep_attribute, &link) < 0)
        return fail(Code::network_setup_failed, "read a link: broken attributes");
    return link;
}

Step find_link_named(std::string_view name)
{
    return link_request("find link " + printable(name), RTM_GETLINK, NLM_F_ACK, {}, name);
}

Step remove_link_named(std::string_view name)
{
    return link_request("remove link " + printable(name), RTM_DELLINK, NLM_F_ACK, {}, name);
}

Step remove_link(const Link& link)
{
    return link_request("remove link " + text_of(link), RTM_DELLINK, NLM_F_ACK, about(link));
}

Step set_link(const Link& link, Flag flag)
{
    ifinfomsg body = about(link);
    body.ifi_change = IFF_UP;
    body.ifi_flags = flag == Flag::up ? IFF_UP : 0;
    return link_request((flag == Flag::up ? "bring up link " : "set down link ") + text_of(link),
                        RTM_NEWLINK, NLM_F_ACK, body);
}

bool is_inborn(const Link& link, const std::vector<Link>& born)
{
    return std::ranges::any_of(born, [&link](const Link& other) {
        return link.name == other.name && link.kind == other.kind && link.type == other.type;
    });
}

std::vector<Link> strays_among(const std::vector<Link>& links, const std::vector<Link>& born)
{
    std::vector<Link> strays;
    for (const Link& link : links) {
        if (!link.is_loopback() && (link.up || !is_inborn(link, born)))
            strays.push_back(link);
    }
    return strays;
}

std::string text_of(const Link& link)
{
    return printable(link.name) + (link.kind.empty() ? "" : " (" + printable(link.kind) + ")");
}

std::string text_of_mac(std::span<const std::uint8_t> bytes)
{
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t byte : bytes) {
        text += text.empty() ? "" : ":";
        text += {digits[byte >> 4], digits[byte & 0xf]};
    }
    return text;
}

} // namespace anchorhold::net
