// SPDX-License-Identifier: Apache-2.0
// As nft(8) would write it:
//
//   table inet anchorhold {
//     chain input       { type filter hook input priority 0; policy drop; iif lo accept }
//     chain output      { type filter hook output priority 0; policy drop
//                         ip daddr 127.0.0.11 meta l4proto tcp reject with tcp reset
//                         ip daddr 127.0.0.11 reject with icmpx port-unreachable
//                         oif lo accept
//                         meta l4proto tcp reject with tcp reset
//                         reject with icmpx admin-prohibited }
//     chain postrouting { type filter hook postrouting priority 0; policy drop; oif lo accept }
//   }
//
// 127.0.0.11 is where Docker's resolver listens inside the namespace and answers from the host.
// What goes nowhere is refused at once, so that clients do not wait.
//
// The postrouting chain is not a second opinion: where an engine's table has a DNAT rule on output,
// a packet for lo is routed again and leaves by another link, and a filter on output is still told
// lo (measured). Nothing is accepted for being established: severed means no answers either.
//
// Packets of AF_PACKET pass these hooks by. They need CAP_NET_RAW, which the shim strips, and a
// link that is up, which links.cpp takes away; so there is no netdev egress chain.
#include "hooks/drop_table.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <libnftnl/table.h>
#include <netinet/in.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

namespace anchorhold {
namespace {

constexpr const char* table_name = "anchorhold";
constexpr std::size_t message_size = 4096; // the longest rule below takes about 500 bytes
constexpr std::uint32_t loopback_index = 1;

template <auto Release> struct Releaser {
    template <typename T> void operator()(T* object) const noexcept { Release(object); }
};
using NftTable = std::unique_ptr<nftnl_table, Releaser<nftnl_table_free>>;
using NftChain = std::unique_ptr<nftnl_chain, Releaser<nftnl_chain_free>>;
using NftRule = std::unique_ptr<nftnl_rule, Releaser<nftnl_rule_free>>;
using Buffer = std::array<char, message_size>;

Message message_in(const nlmsghdr* header)
{
    const auto* const bytes = reinterpret_cast<const std::byte*>(header);
    return {bytes, bytes + header->nlmsg_len};
}

std::uint16_t nft_flags(unsigned flags)
{
    return static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
}

Step table_step(std::string doing, std::uint16_t type, unsigned flags)
{
    alignas(nlmsghdr) Buffer buffer{};
    const NftTable table(nftnl_table_alloc());
    nftnl_table_set_str(table.get(), NFTNL_TABLE_NAME, table_name);
    nlmsghdr* const header =
        nftnl_nlmsg_build_hdr(buffer.data(), type, NFPROTO_INET, nft_flags(flags | NLM_F_ACK), 0);
    nftnl_table_nlmsg_build_payload(header, table.get());
    return {std::move(doing), message_in(header)};
}

Step chain_step(const char* name, std::uint32_t hook)
{
    alignas(nlmsghdr) Buffer buffer{};
    const NftChain chain(nftnl_chain_alloc());
    nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_TABLE, table_name);
    nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_NAME, name);
    nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_TYPE, "filter");
    nftnl_chain_set_u32(chain.get(), NFTNL_CHAIN_HOOKNUM, hook);
    nftnl_chain_set_s32(chain.get(), NFTNL_CHAIN_PRIO, 0);
    nftnl_chain_set_u32(chain.get(), NFTNL_CHAIN_POLICY, NF_DROP);
    nlmsghdr* const header =
        nftnl_nlmsg_build_hdr(buffer.data(), NFT_MSG_NEWCHAIN, NFPROTO_INET,
                              nft_flags(NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK), 0);
    nftnl_chain_nlmsg_build_payload(header, chain.get());
    return {"add chain " + std::string(name), message_in(header)};
}

// A rule as it grows: conditions first, the verdict last.
class Rule {
public:
    explicit Rule(const char* chain) : chain_(chain), rule_(nftnl_rule_alloc())
    {
        nftnl_rule_set_str(rule_.get(), NFTNL_RULE_TABLE, table_name);
        nftnl_rule_set_str(rule_.get(), NFTNL_RULE_CHAIN, chain);
    }
    template <typename Value> Rule& meta(std::uint32_t key, Value value)
    {
        nftnl_expr* const load = add("meta");
        nftnl_expr_set_u32(load, NFTNL_EXPR_META_KEY, key);
        nftnl_expr_set_u32(load, NFTNL_EXPR_META_DREG, NFT_REG_1);
        return equals(&value, sizeof value);
    }
    Rule& to(in_addr address);
    Step accept();
    Step reject(std::uint32_t type, std::uint8_t code);

private:
    nftnl_expr* add(const char* name);
    Rule& equals(const void* data, std::uint32_t size);
    Step finish(std::string_view verdict) const;

    const char* chain_;
    NftRule rule_;
};

nftnl_expr* Rule::add(const char* name)
{
    nftnl_expr* const expression = nftnl_expr_alloc(name);
    nftnl_rule_add_expr(rule_.get(), expression); // the rule's from here on
    return expression;
}

Rule& Rule::equals(const void* data, std::uint32_t size)
{
    nftnl_expr* const compare = add("cmp");
    nftnl_expr_set_u32(compare, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
    nftnl_expr_set_u32(compare, NFTNL_EXPR_CMP_OP, NFT_CMP_EQ);
    nftnl_expr_set(compare, NFTNL_EXPR_CMP_DATA, data, size);
    return *this;
}

Rule& Rule::to(in_addr address)
{
    meta(NFT_META_NFPROTO, std::uint8_t{NFPROTO_IPV4});
    nftnl_expr* const load = add("payload");
    nftnl_expr_set_u32(load, NFTNL_EXPR_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER);
    nftnl_expr_set_u32(load, NFTNL_EXPR_PAYLOAD_OFFSET, 16); // RFC 791, 3.1: destination address
    nftnl_expr_set_u32(load, NFTNL_EXPR_PAYLOAD_LEN, sizeof address);
    nftnl_expr_set_u32(load, NFTNL_EXPR_PAYLOAD_DREG, NFT_REG_1);
    return equals(&address, sizeof address);
}

Step Rule::accept()
{
    nftnl_expr* const verdict = add("immediate");
    nftnl_expr_set_u32(verdict, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
    nftnl_expr_set_u32(verdict, NFTNL_EXPR_IMM_VERDICT, NF_ACCEPT);
    return finish("accept");
}

Step Rule::reject(std::uint32_t type, std::uint8_t code)
{
    nftnl_expr* const verdict = add("reject");
    nftnl_expr_set_u32(verdict, NFTNL_EXPR_REJECT_TYPE, type);
    nftnl_expr_set_u8(verdict, NFTNL_EXPR_REJECT_CODE, code);
    return finish("reject");
}

Step Rule::finish(std::string_view verdict) const
{
    alignas(nlmsghdr) Buffer buffer{};
    nlmsghdr* const header =
        nftnl_nlmsg_build_hdr(buffer.data(), NFT_MSG_NEWRULE, NFPROTO_INET,
                              nft_flags(NLM_F_CREATE | NLM_F_APPEND | NLM_F_ACK), 0);
    nftnl_rule_nlmsg_build_payload(header, rule_.get());
    return {"add a rule (" + std::string(verdict) + ") to chain " + chain_, message_in(header)};
}

template <nlmsghdr* Build(char*, std::uint32_t)> Step batch_edge(std::string doing)
{
    alignas(nlmsghdr) Buffer buffer{};
    return {std::move(doing), message_in(Build(buffer.data(), 0))};
}

Step list_step(std::string doing, std::uint16_t type)
{
    alignas(nlmsghdr) Buffer buffer{};
    return {std::move(doing), message_in(nftnl_nlmsg_build_hdr(buffer.data(), type, NFPROTO_UNSPEC,
                                                               nft_flags(NLM_F_DUMP), 0))};
}

std::vector<Step> chains_and_rules()
{
    const in_addr docker_resolver = {htonl(0x7f00000b)}; // 127.0.0.11
    constexpr std::uint8_t tcp = IPPROTO_TCP;
    std::vector<Step> steps;
    steps.push_back(chain_step("input", NF_INET_LOCAL_IN));
    steps.push_back(chain_step("output", NF_INET_LOCAL_OUT));
    steps.push_back(chain_step("postrouting", NF_INET_POST_ROUTING));
    steps.push_back(Rule("input").meta(NFT_META_IIF, loopback_index).accept());
    steps.push_back(Rule("output")
                        .to(docker_resolver)
                        .meta(NFT_META_L4PROTO, tcp)
                        .reject(NFT_REJECT_TCP_RST, 0));
    steps.push_back(Rule("output")
                        .to(docker_resolver)
                        .reject(NFT_REJECT_ICMPX_UNREACH, NFT_REJECT_ICMPX_PORT_UNREACH));
    steps.push_back(Rule("output").meta(NFT_META_OIF, loopback_index).accept());
    steps.push_back(Rule("output").meta(NFT_META_L4PROTO, tcp).reject(NFT_REJECT_TCP_RST, 0));
    steps.push_back(
        Rule("output").reject(NFT_REJECT_ICMPX_UNREACH, NFT_REJECT_ICMPX_ADMIN_PROHIBITED));
    steps.push_back(Rule("postrouting").meta(NFT_META_OIF, loopback_index).accept());
    return steps;
}

std::string family_word(std::uint32_t family)
{
    switch (family) {
    case NFPROTO_INET: return "inet";
    case NFPROTO_IPV4: return "ip";
    case NFPROTO_IPV6: return "ip6";
    case NFPROTO_ARP: return "arp";
    case NFPROTO_BRIDGE: return "bridge";
    case NFPROTO_NETDEV: return "netdev";
    default: return "family " + std::to_string(family);
    }
}

// Only ours has both the name and the family.
bool is_ours(std::uint32_t family, std::string_view name)
{
    return family == NFPROTO_INET && name == table_name;
}

std::string_view text_or_nothing(const char* text)
{
    return text == nullptr ? std::string_view() : std::string_view(text);
}

Status read_table(Ruleset& ruleset, const nlmsghdr* header)
{
    const NftTable table(nftnl_table_alloc());
    if (nftnl_table_nlmsg_parse(header, table.get()) < 0)
        return fail_errno("read a table", errno);
    const std::uint32_t family = nftnl_table_get_u32(table.get(), NFTNL_TABLE_FAMILY);
    const auto name = text_or_nothing(nftnl_table_get_str(table.get(), NFTNL_TABLE_NAME));
    if (!is_ours(family, name)) {
        ruleset.others.push_back(family_word(family) + " " + printable(name));
        return {};
    }
    const std::uint32_t flags = nftnl_table_get_u32(table.get(), NFTNL_TABLE_FLAGS); // dormant?
    ruleset.ours.push_back("table inet anchorhold flags " + std::to_string(flags));
    return {};
}

Status read_chain(Ruleset& ruleset, const nlmsghdr* header)
{
    const NftChain chain(nftnl_chain_alloc());
    if (nftnl_chain_nlmsg_parse(header, chain.get()) < 0)
        return fail_errno("read a chain", errno);
    const nftnl_chain* const c = chain.get();
    if (!is_ours(nftnl_chain_get_u32(c, NFTNL_CHAIN_FAMILY),
                 text_or_nothing(nftnl_chain_get_str(c, NFTNL_CHAIN_TABLE))))
        return {};
    std::string line = "chain ";
    line += text_or_nothing(nftnl_chain_get_str(c, NFTNL_CHAIN_NAME));
    line += " type ";
    line += text_or_nothing(nftnl_chain_get_str(c, NFTNL_CHAIN_TYPE));
    line += " hook " + std::to_string(nftnl_chain_get_u32(c, NFTNL_CHAIN_HOOKNUM));
    line += " prio " + std::to_string(nftnl_chain_get_s32(c, NFTNL_CHAIN_PRIO));
    line += " policy " + std::to_string(nftnl_chain_get_u32(c, NFTNL_CHAIN_POLICY));
    ruleset.ours.push_back(std::move(line));
    return {};
}

int append_expression(nftnl_expr* expression, void* data)
{
    std::array<char, message_size> text{};
    nftnl_expr_snprintf(text.data(), text.size(), expression, NFTNL_OUTPUT_DEFAULT, 0);
    std::string& line = *static_cast<std::string*>(data);
    line += " [ ";
    line += text_or_nothing(nftnl_expr_get_str(expression, NFTNL_EXPR_NAME));
    line += std::string(" ") + text.data() + "]";
    return 0;
}

Status read_rule(Ruleset& ruleset, const nlmsghdr* header)
{
    const NftRule rule(nftnl_rule_alloc());
    if (nftnl_rule_nlmsg_parse(header, rule.get()) < 0)
        return fail_errno("read a rule", errno);
    if (!is_ours(nftnl_rule_get_u32(rule.get(), NFTNL_RULE_FAMILY),
                 text_or_nothing(nftnl_rule_get_str(rule.get(), NFTNL_RULE_TABLE))))
        return {};
    std::string line = "rule ";
    line += text_or_nothing(nftnl_rule_get_str(rule.get(), NFTNL_RULE_CHAIN));
    if (nftnl_expr_foreach(rule.get(), append_expression, &line) != 0)
        return fail(Code::network_setup_failed, "read a rule: its expressions are unreadable");
    ruleset.ours.push_back(std::move(line));
    return {};
}

} // namespace

std::vector<Step> load_drop_table(Standing standing)
{
    std::vector<Step> steps;
    steps.push_back(batch_edge<nftnl_batch_begin>("begin the nftables transaction"));
    if (standing == Standing::ours)
        steps.push_back(table_step("replace table inet anchorhold", NFT_MSG_DELTABLE, 0));
    steps.push_back(
        table_step("add table inet anchorhold", NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL));
    for (Step& step : chains_and_rules())
        steps.push_back(std::move(step));
    steps.push_back(batch_edge<nftnl_batch_end>("commit the nftables transaction"));
    return steps;
}

std::vector<Step> list_ruleset()
{
    return {list_step("list tables", NFT_MSG_GETTABLE), list_step("list chains", NFT_MSG_GETCHAIN),
            list_step("list rules", NFT_MSG_GETRULE)};
}

Status read_into(Ruleset& ruleset, const Message& message)
{
    const nlmsghdr* const header = header_of(message);
    switch (NFNL_MSG_TYPE(header->nlmsg_type)) {
    case NFT_MSG_NEWTABLE: return read_table(ruleset, header);
    case NFT_MSG_NEWCHAIN: return read_chain(ruleset, header);
    case NFT_MSG_NEWRULE: return read_rule(ruleset, header);
    default: return {};
    }
}

Result<std::vector<std::string>> drop_table_lines()
{
    Ruleset ruleset;
    for (const Step& step : load_drop_table(Standing::none)) {
        if (NFNL_SUBSYS_ID(header_of(step.message)->nlmsg_type) == NFNL_SUBSYS_NFTABLES)
            AH_CHECK(read_into(ruleset, step.message), "describe the drop table");
    }
    return ruleset.ours;
}

} // namespace anchorhold
