// SPDX-License-Identifier: Apache-2.0
#include "hooks/nft/inside_table.hpp"
#include "hooks/nft/ruleset_text.hpp"

#include <doctest/doctest.h>

#include <array>
#include <libmnl/libmnl.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

namespace anchorhold::ruleset_test {

using namespace net;
using namespace nft;

TEST_CASE("a dormant table is not the table")
{
    // NFT_TABLE_F_DORMANT unhooks all chains, so its flags are part of what is compared.
    alignas(nlmsghdr) std::array<char, 256> buffer{};
    nlmsghdr* header = mnl_nlmsg_put_header(buffer.data());
    header->nlmsg_type = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWTABLE;
    auto* family = static_cast<nfgenmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(nfgenmsg)));
    family->nfgen_family = NFPROTO_INET;
    mnl_attr_put_strz(header, NFTA_TABLE_NAME, "anchorhold");
    mnl_attr_put_u32(header, NFTA_TABLE_FLAGS, htonl(NFT_TABLE_F_DORMANT));
    const auto* bytes = reinterpret_cast<const std::byte*>(header);
    Ruleset ruleset;
    REQUIRE(read_into(ruleset, inside_table(), Message(bytes, bytes + header->nlmsg_len)));
    CHECK(ruleset.ours == std::vector<std::string>{"table inet anchorhold flags 1"});
}

} // namespace anchorhold::ruleset_test
