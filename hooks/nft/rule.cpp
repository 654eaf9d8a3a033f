// SPDX-License-Identifier: Apache-2.0
// Registers: every value is loaded into register 1, of 16 bytes. Only the parts of a reach lie one
// behind the other in registers of 4 bytes. A register of 16 bytes is four of these. Where both
// kinds begin at the same place, the kernel lists the one of 16 bytes, so we use that name too.
#include "hooks/nft/rule.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <libnftnl/common.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <net/if_arp.h>
#include <netinet/in.h>

#include <linux/if_ether.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/rtnetlink.h>

namespace anchorhold::nft {
namespace {

constexpr std::size_t rule_size = 4096; // our longest rule takes about 700 bytes

struct Field {
    std::uint32_t offset = 0;
    std::uint32_t size = 0;
};
Field field_of(Side side, Ip ip)
{
    if (ip == Ip::v4)
        return {side == Side::source ? 12U : 16U, 4}; // RFC 791, 3.1
    return {side == Side::source ? 8U : 24U, 16};     // RFC 8200, 3
}

} // namespace

void Rule::Free::operator()(nftnl_rule* rule) const noexcept
{
    nftnl_rule_free(rule);
}

Rule::Rule(const Table& table, std::string chain)
    : table_(table), chain_(std::move(chain)), rule_(nftnl_rule_alloc())
{
    nftnl_rule_set_str(rule_.get(), NFTNL_RULE_TABLE, table_.name);
    nftnl_rule_set_str(rule_.get(), NFTNL_RULE_CHAIN, chain_.c_str());
}

nftnl_expr* Rule::add(const char* name)
{
    nftnl_expr* const expression = nftnl_expr_alloc(name);
    nftnl_rule_add_expr(rule_.get(), expression); // from here on the rule owns it
    return expression;
}

Rule& Rule::compare(std::uint32_t operation, const void* data, std::uint32_t size)
{
    static_assert(NFT_CMP_EQ == 0 && NFT_CMP_NEQ == 1);
    nftnl_expr* const compare = add("cmp");
    nftnl_expr_set_u32(compare, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
    nftnl_expr_set_u32(compare, NFTNL_EXPR_CMP_OP, operation);
    nftnl_expr_set(compare, NFTNL_EXPR_CMP_DATA, data, size);
    return *this;
}

Rule& Rule::payload(std::uint32_t base, std::uint32_t offset, std::uint32_t size, std::uint32_t to)
{
    nftnl_expr* const load = add("payload");
    nftnl_expr_set_u32(load, NFTNL_EXPR_PAYLOAD_BASE, base);
    nftnl_expr_set_u32(load, NFTNL_EXPR_PAYLOAD_OFFSET, offset);
    nftnl_expr_set_u32(load, NFTNL_EXPR_PAYLOAD_LEN, size);
    nftnl_expr_set_u32(load, NFTNL_EXPR_PAYLOAD_DREG, to);
    return *this;
}

Rule& Rule::meta(std::uint32_t key)
{
    nftnl_expr* const load = add("meta");
    nftnl_expr_set_u32(load, NFTNL_EXPR_META_KEY, key);
    nftnl_expr_set_u32(load, NFTNL_EXPR_META_DREG, NFT_REG_1);
    return *this;
}

Rule& Rule::version(Ip ip)
{
    if (table_.family == NFPROTO_NETDEV)
        return meta(NFT_META_PROTOCOL).equals(htons(ip == Ip::v4 ? ETH_P_IP : ETH_P_IPV6));
    return meta(NFT_META_NFPROTO)
        .equals(static_cast<std::uint8_t>(ip == Ip::v4 ? NFPROTO_IPV4 : NFPROTO_IPV6));
}

Rule& Rule::address(Side side, Ip ip)
{
    const Field field = field_of(side, ip);
    return version(ip).payload(NFT_PAYLOAD_NETWORK_HEADER, field.offset, field.size, NFT_REG_1);
}

Rule& Rule::port(Side side)
{
    return payload(NFT_PAYLOAD_TRANSPORT_HEADER, side == Side::source ? 0 : 2, 2, NFT_REG_1);
}

Rule& Rule::icmp6_type()
{
    return payload(NFT_PAYLOAD_TRANSPORT_HEADER, 0, 1, NFT_REG_1);
}

Rule& Rule::reach(Ip ip)
{
    const std::uint32_t second = ip == Ip::v4 ? NFT_REG32_01 : NFT_REG_2;
    const std::uint32_t third = ip == Ip::v4 ? NFT_REG32_02 : NFT_REG32_05;
    address(Side::destination, ip);
    nftnl_expr* const load = add("meta");
    nftnl_expr_set_u32(load, NFTNL_EXPR_META_KEY, NFT_META_L4PROTO);
    nftnl_expr_set_u32(load, NFTNL_EXPR_META_DREG, second);
    return payload(NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2, third);
}

Rule& Rule::address_type(Side side)
{
    nftnl_expr* const ask = add("fib");
    nftnl_expr_set_u32(ask, NFTNL_EXPR_FIB_RESULT, NFT_FIB_RESULT_ADDRTYPE);
    nftnl_expr_set_u32(ask, NFTNL_EXPR_FIB_FLAGS,
                       side == Side::source ? NFTA_FIB_F_SADDR : NFTA_FIB_F_DADDR);
    nftnl_expr_set_u32(ask, NFTNL_EXPR_FIB_DREG, NFT_REG_1);
    return *this;
}

Rule& Rule::address_is_local()
{
    return address_type(Side::destination).equals(std::uint32_t{RTN_LOCAL});
}

// The kernel compares byte by byte. That is the order of the numbers only below 256.
Rule& Rule::is_delivered_here()
{
    static_assert(RTN_LOCAL + 1 == RTN_BROADCAST && RTN_BROADCAST + 1 == RTN_ANYCAST &&
                  RTN_ANYCAST + 1 == RTN_MULTICAST);
    constexpr std::uint32_t first = RTN_LOCAL;
    constexpr std::uint32_t last = RTN_MULTICAST;
    return address_type(Side::destination)
        .compare(NFT_CMP_GTE, &first, sizeof first)
        .compare(NFT_CMP_LTE, &last, sizeof last);
}

Rule& Rule::is_from_mac(const std::string& mac)
{
    std::array<std::uint8_t, ETH_ALEN> bytes{};
    const char* const end = mac.data() + mac.size();
    for (std::size_t i = 0; i < bytes.size(); ++i) // two digits and a colon each
        (void)std::from_chars(std::min(mac.data() + 3 * i, end),
                              std::min(mac.data() + 3 * i + 2, end), bytes[i], 16);
    return meta(NFT_META_IIFTYPE)
        .equals(std::uint16_t{ARPHRD_ETHER})
        .payload(NFT_PAYLOAD_LL_HEADER, ETH_ALEN, ETH_ALEN, NFT_REG_1)
        .equals(bytes);
}

Rule& Rule::source_is_foreign()
{
    return address_type(Side::source).differs(std::uint32_t{RTN_LOCAL});
}

Rule& Rule::has_state(std::uint32_t bit)
{
    return tracked(NFT_CT_STATE, bit).differs(std::uint32_t{0});
}

Rule& Rule::is_sent_elsewhere(bool is)
{
    const std::uint32_t none = 0;
    Rule& bit = tracked(NFT_CT_STATUS, IPS_DST_NAT);
    return is ? bit.differs(none) : bit.equals(none);
}

Rule& Rule::tracked(std::uint32_t key, std::uint32_t bit)
{
    constexpr std::uint32_t none = 0;
    nftnl_expr* const load = add("ct");
    nftnl_expr_set_u32(load, NFTNL_EXPR_CT_KEY, key);
    nftnl_expr_set_u32(load, NFTNL_EXPR_CT_DREG, NFT_REG_1);
    nftnl_expr* const mask = add("bitwise");
    nftnl_expr_set_u32(mask, NFTNL_EXPR_BITWISE_SREG, NFT_REG_1);
    nftnl_expr_set_u32(mask, NFTNL_EXPR_BITWISE_DREG, NFT_REG_1);
    nftnl_expr_set_u32(mask, NFTNL_EXPR_BITWISE_LEN, sizeof bit);
    nftnl_expr_set(mask, NFTNL_EXPR_BITWISE_MASK, &bit, sizeof bit);
    nftnl_expr_set(mask, NFTNL_EXPR_BITWISE_XOR, &none, sizeof none);
    return *this;
}

Rule& Rule::acknowledges()
{
    constexpr std::uint8_t ack = 0x10; // RFC 9293, 3.1: the flags are byte 13
    constexpr std::uint8_t none = 0;
    payload(NFT_PAYLOAD_TRANSPORT_HEADER, 13, sizeof ack, NFT_REG_1);
    nftnl_expr* const mask = add("bitwise");
    nftnl_expr_set_u32(mask, NFTNL_EXPR_BITWISE_SREG, NFT_REG_1);
    nftnl_expr_set_u32(mask, NFTNL_EXPR_BITWISE_DREG, NFT_REG_1);
    nftnl_expr_set_u32(mask, NFTNL_EXPR_BITWISE_LEN, sizeof ack);
    nftnl_expr_set(mask, NFTNL_EXPR_BITWISE_MASK, &ack, sizeof ack);
    nftnl_expr_set(mask, NFTNL_EXPR_BITWISE_XOR, &none, sizeof none);
    return differs(none);
}

Rule& Rule::begins(std::string_view prefix)
{
    return compare(NFT_CMP_EQ, prefix.data(), static_cast<std::uint32_t>(prefix.size()));
}

Rule& Rule::begins_not(std::string_view prefix)
{
    return compare(NFT_CMP_NEQ, prefix.data(), static_cast<std::uint32_t>(prefix.size()));
}

Rule& Rule::protocol(std::uint8_t number)
{
    return meta(NFT_META_L4PROTO).equals(number);
}

Rule& Rule::in(const std::string& set)
{
    nftnl_expr* const lookup = add("lookup");
    nftnl_expr_set_u32(lookup, NFTNL_EXPR_LOOKUP_SREG, NFT_REG_1);
    nftnl_expr_set_str(lookup, NFTNL_EXPR_LOOKUP_SET, set.c_str());
    nftnl_expr_set_u32(lookup, NFTNL_EXPR_LOOKUP_FLAGS, 0); // the kernel always lists them
    return *this;
}

Rule& Rule::count()
{
    add("counter");
    return *this;
}

net::Step Rule::verdict(std::int32_t number, const char* chain, std::string_view word)
{
    nftnl_expr* const verdict = add("immediate");
    nftnl_expr_set_u32(verdict, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
    nftnl_expr_set_u32(verdict, NFTNL_EXPR_IMM_VERDICT, static_cast<std::uint32_t>(number));
    if (chain != nullptr)
        nftnl_expr_set_str(verdict, NFTNL_EXPR_IMM_CHAIN, chain);
    return finish(word);
}

net::Step Rule::accept()
{
    return verdict(NF_ACCEPT, nullptr, "accept");
}

net::Step Rule::drop()
{
    return verdict(NF_DROP, nullptr, "drop");
}

net::Step Rule::jump(const std::string& chain)
{
    return verdict(NFT_JUMP, chain.c_str(), "jump");
}

net::Step Rule::reset()
{
    nftnl_expr* const refusal = add("reject");
    nftnl_expr_set_u32(refusal, NFTNL_EXPR_REJECT_TYPE, NFT_REJECT_TCP_RST);
    nftnl_expr_set_u8(refusal, NFTNL_EXPR_REJECT_CODE, 0);
    return finish("reject");
}

net::Step Rule::reject(std::uint8_t code)
{
    nftnl_expr* const refusal = add("reject");
    nftnl_expr_set_u32(refusal, NFTNL_EXPR_REJECT_TYPE, NFT_REJECT_ICMPX_UNREACH);
    nftnl_expr_set_u8(refusal, NFTNL_EXPR_REJECT_CODE, code);
    return finish("reject");
}

net::Step Rule::masquerade()
{
    add("masq");
    return finish("masquerade");
}

Rule& Rule::load(std::uint32_t to, const void* data, std::uint32_t size)
{
    nftnl_expr* const value = add("immediate");
    nftnl_expr_set_u32(value, NFTNL_EXPR_IMM_DREG, to);
    nftnl_expr_set(value, NFTNL_EXPR_IMM_DATA, data, size);
    return *this;
}

net::Step Rule::capture(Ip ip, std::span<const std::uint8_t> address, std::uint16_t port)
{
    load(NFT_REG_1, address.data(), static_cast<std::uint32_t>(address.size()));
    load(NFT_REG_2, &port, sizeof port);
    nftnl_expr* const capture = add("tproxy");
    nftnl_expr_set_u32(capture, NFTNL_EXPR_TPROXY_FAMILY,
                       ip == Ip::v4 ? NFPROTO_IPV4 : NFPROTO_IPV6);
    nftnl_expr_set_u32(capture, NFTNL_EXPR_TPROXY_REG_ADDR, NFT_REG_1);
    nftnl_expr_set_u32(capture, NFTNL_EXPR_TPROXY_REG_PORT, NFT_REG_2);
    return verdict(NF_ACCEPT, nullptr, "capture");
}

net::Step Rule::set_source_port(std::uint16_t port)
{
    constexpr std::uint32_t udp_checksum = 6; // RFC 768
    load(NFT_REG_1, &port, sizeof port);
    nftnl_expr* const write = add("payload");
    nftnl_expr_set_u32(write, NFTNL_EXPR_PAYLOAD_SREG, NFT_REG_1);
    nftnl_expr_set_u32(write, NFTNL_EXPR_PAYLOAD_BASE, NFT_PAYLOAD_TRANSPORT_HEADER);
    nftnl_expr_set_u32(write, NFTNL_EXPR_PAYLOAD_OFFSET, 0);
    nftnl_expr_set_u32(write, NFTNL_EXPR_PAYLOAD_LEN, sizeof port);
    nftnl_expr_set_u32(write, NFTNL_EXPR_PAYLOAD_CSUM_TYPE, NFT_PAYLOAD_CSUM_INET);
    nftnl_expr_set_u32(write, NFTNL_EXPR_PAYLOAD_CSUM_OFFSET, udp_checksum);
    return finish("set the source port");
}

net::Step Rule::remember(const std::string& set)
{
    nftnl_expr* const update = add("dynset");
    nftnl_expr_set_str(update, NFTNL_EXPR_DYNSET_SET_NAME, set.c_str());
    nftnl_expr_set_u32(update, NFTNL_EXPR_DYNSET_OP, NFT_DYNSET_OP_UPDATE);
    nftnl_expr_set_u32(update, NFTNL_EXPR_DYNSET_SREG_KEY, NFT_REG_1);
    nftnl_expr_set_u64(update, NFTNL_EXPR_DYNSET_TIMEOUT, 0); // 0 means the set's own time-out
    return finish("remember");
}

net::Step Rule::end()
{
    return finish("go on");
}

net::Step Rule::finish(std::string_view word) const
{
    alignas(nlmsghdr) std::array<char, rule_size> buffer{};
    nlmsghdr* const header = nftnl_nlmsg_build_hdr(
        buffer.data(), NFT_MSG_NEWRULE, table_.family,
        static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_CREATE | NLM_F_APPEND | NLM_F_ACK), 0);
    nftnl_rule_nlmsg_build_payload(header, rule_.get());
    const auto* const bytes = reinterpret_cast<const std::byte*>(header);
    return {"add a rule (" + std::string(word) + ") to chain " + chain_,
            net::Message(bytes, bytes + header->nlmsg_len)};
}

} // namespace anchorhold::nft
