// SPDX-License-Identifier: Apache-2.0
#include "hooks/drop_table.hpp"

#include <doctest/doctest.h>

#include <libmnl/libmnl.h>
#include <netinet/in.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

using namespace anchorhold;

namespace {

std::vector<std::string> lines_of(const std::vector<Step>& steps)
{
    Ruleset ruleset;
    for (const Step& step : steps)
        if (NFNL_SUBSYS_ID(header_of(step.message)->nlmsg_type) == NFNL_SUBSYS_NFTABLES)
            REQUIRE(read_into(ruleset, step.message));
    CHECK(ruleset.others.empty());
    return ruleset.ours;
}

std::vector<std::string> doings_of(const std::vector<Step>& steps)
{
    std::vector<std::string> doings;
    for (const Step& step : steps)
        doings.push_back(step.doing);
    return doings;
}

} // namespace

TEST_CASE("the drop table is exactly this")
{
    const std::string is_lo_in = " [ meta load iif => reg 1 ] [ cmp eq reg 1 0x00000001 ]";
    const std::string is_lo_out = " [ meta load oif => reg 1 ] [ cmp eq reg 1 0x00000001 ]";
    const std::string is_tcp = " [ meta load l4proto => reg 1 ] [ cmp eq reg 1 0x00000006 ]";
    const std::string to_docker = " [ meta load nfproto => reg 1 ] [ cmp eq reg 1 0x00000002 ]"
                                  " [ payload load 4b @ network header + 16 => reg 1 ]"
                                  " [ cmp eq reg 1 0x0b00007f ]";
    const std::string accept = " [ immediate reg 0 accept ]";
    const std::string reset = " [ reject type 1 code 0 ]";
    const std::vector<std::string> expected = {
        "table inet anchorhold flags 0",
        "chain input type filter hook 1 prio 0 policy 0",
        "chain output type filter hook 3 prio 0 policy 0",
        "chain postrouting type filter hook 4 prio 0 policy 0",
        "rule input" + is_lo_in + accept,
        "rule output" + to_docker + is_tcp + reset,
        "rule output" + to_docker + " [ reject type 2 code 1 ]",
        "rule output" + is_lo_out + accept,
        "rule output" + is_tcp + reset,
        "rule output [ reject type 2 code 3 ]",
        "rule postrouting" + is_lo_out + accept,
    };
    CHECK(lines_of(load_drop_table(Standing::none)) == expected);
    const auto planned = drop_table_lines();
    REQUIRE(planned);
    CHECK(*planned == expected);
}

TEST_CASE("every step of the transaction but its edges asks for an acknowledgement")
{
    for (const Standing standing : {Standing::none, Standing::ours}) {
        const auto steps = load_drop_table(standing);
        CHECK(header_of(steps.front().message)->nlmsg_type == NFNL_MSG_BATCH_BEGIN);
        CHECK(header_of(steps.back().message)->nlmsg_type == NFNL_MSG_BATCH_END);
        for (std::size_t i = 1; i + 1 < steps.size(); ++i)
            CHECK((header_of(steps[i].message)->nlmsg_flags & NLM_F_ACK) != 0);
    }
}

TEST_CASE("a table that must not be there is made exclusively")
{
    for (const Step& step : load_drop_table(Standing::none)) {
        const nlmsghdr* header = header_of(step.message);
        if (header->nlmsg_type == (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWTABLE))
            CHECK((header->nlmsg_flags & (NLM_F_CREATE | NLM_F_EXCL)) ==
                  (NLM_F_CREATE | NLM_F_EXCL));
    }
}

TEST_CASE("a table of ours is replaced in the same transaction, never merely deleted")
{
    const auto fresh = doings_of(load_drop_table(Standing::none));
    auto replaced = doings_of(load_drop_table(Standing::ours));
    REQUIRE(replaced.size() == fresh.size() + 1);
    CHECK(replaced[1] == "replace table inet anchorhold");
    replaced.erase(replaced.begin() + 1);
    CHECK(replaced == fresh);
}

TEST_CASE("a table is ours by name and family; every other is somebody's")
{
    auto steps = load_drop_table(Standing::none);
    Message table = steps[1].message;
    auto* family = reinterpret_cast<nfgenmsg*>(table.data() + sizeof(nlmsghdr));
    family->nfgen_family = NFPROTO_IPV4;
    Ruleset ruleset;
    REQUIRE(read_into(ruleset, table));
    CHECK(ruleset == Ruleset{{}, {"ip anchorhold"}});
}

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
    REQUIRE(read_into(ruleset, Message(bytes, bytes + header->nlmsg_len)));
    CHECK(ruleset.ours == std::vector<std::string>{"table inet anchorhold flags 1"});
}
