// SPDX-License-Identifier: Apache-2.0
#include "hooks/net/netlink_request.hpp"

#include <libmnl/libmnl.h>

namespace anchorhold::net {

NetlinkRequest::NetlinkRequest(std::uint16_t type, unsigned flags)
    : header_(mnl_nlmsg_put_header(buffer_.data()))
{
    header_->nlmsg_type = type;
    header_->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
}

void* NetlinkRequest::add_zeros(std::size_t size)
{
    return mnl_nlmsg_put_extra_header(header_, size);
}

Step NetlinkRequest::finish(std::string doing) const
{
    const auto* const bytes = reinterpret_cast<const std::byte*>(header_);
    return {std::move(doing), Message(bytes, bytes + header_->nlmsg_len)};
}

} // namespace anchorhold::net
