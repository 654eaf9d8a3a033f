// SPDX-License-Identifier: Apache-2.0
// Byte orders: addresses and ports are in network order. What meta, ct and fib load is in host
// order.
//
// Rules and elements name their set, and do not use its number in the transaction. The kernel looks
// for the name first, and finds a set that the same transaction made.
#include "hooks/nft/messages.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <libnftnl/rule.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>
#include <libnftnl/udata.h>
#include <net/if.h>
#include <netinet/in.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

namespace anchorhold::nft {
namespace {

constexpr std::size_t small_size = 4096;
// A netlink attribute has at most 65535 bytes, and one attribute holds all elements of a message.
constexpr std::size_t elements_size = 65536;
constexpr std::size_t most_elements = 400; // of up to 108 bytes each, with two keys of 24 bytes

template <auto Release> struct Releaser {
    template <typename T> void operator()(T* object) const noexcept { Release(object); }
};
using NftTable = std::unique_ptr<nftnl_table, Releaser<nftnl_table_free>>;
using NftChain = std::unique_ptr<nftnl_chain, Releaser<nftnl_chain_free>>;
using NftRule = std::unique_ptr<nftnl_rule, Releaser<nftnl_rule_free>>;
using NftSet = std::unique_ptr<nftnl_set, Releaser<nftnl_set_free>>;

net::Step step_of(std::string doing, const nlmsghdr* header)
{
    const auto* const bytes = reinterpret_cast<const std::byte*>(header);
    return {std::move(doing), net::Message(bytes, bytes + header->nlmsg_len)};
}

// Builds a message. `fill` appends the object's attributes.
template <typename Fill>
net::Step message(std::string doing, int type, const Table& table, unsigned flags, const Fill& fill,
                  std::size_t size = small_size)
{
    std::vector<char> buffer(size); // operator new aligns for nlmsghdr
    nlmsghdr* const header =
        nftnl_nlmsg_build_hdr(buffer.data(), static_cast<std::uint16_t>(type), table.family,
                              static_cast<std::uint16_t>(NLM_F_REQUEST | flags), 0);
    fill(header);
    return step_of(std::move(doing), header);
}

unsigned flags_for(Making making)
{
    return NLM_F_CREATE | NLM_F_ACK | (making == Making::exclusive ? NLM_F_EXCL : 0);
}

std::string text_of(const Table& table)
{
    return (table.family == NFPROTO_NETDEV ? "netdev " : "inet ") + std::string(table.name);
}

net::Step table_step(const char* verb, int type, const Table& table, unsigned flags)
{
    const NftTable made(nftnl_table_alloc());
    nftnl_table_set_str(made.get(), NFTNL_TABLE_NAME, table.name);
    return message(verb + (" table " + text_of(table)), type, table, flags,
                   [&](nlmsghdr* header) { nftnl_table_nlmsg_build_payload(header, made.get()); });
}

NftChain chain_named(const Table& table, const std::string& name)
{
    NftChain chain(nftnl_chain_alloc());
    nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_TABLE, table.name);
    nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_NAME, name.c_str());
    return chain;
}

net::Step chain_step(const char* verb, int type, const Table& table, const nftnl_chain* chain,
                     unsigned flags)
{
    const std::string name = nftnl_chain_get_str(chain, NFTNL_CHAIN_NAME);
    return message(verb + (" chain " + name), type, table, flags,
                   [&](nlmsghdr* header) { nftnl_chain_nlmsg_build_payload(header, chain); });
}

NftSet set_named(const Table& table, const std::string& name)
{
    NftSet set(nftnl_set_alloc());
    nftnl_set_set_str(set.get(), NFTNL_SET_TABLE, table.name);
    nftnl_set_set_str(set.get(), NFTNL_SET_NAME, name.c_str());
    return set;
}

net::Step set_step(const std::string& doing, int type, const Table& table, nftnl_set* set,
                   unsigned flags)
{
    return message(doing, type, table, flags,
                   [&](nlmsghdr* header) { nftnl_set_nlmsg_build_payload(header, set); });
}

// Gives each element of a list the attribute number that the kernel uses. libnftnl writes other
// numbers (1, 2, 3 ...), but reads a list only with the kernel's.
void name_elements(nlmsghdr* header)
{
    const void* const end = mnl_nlmsg_get_payload_tail(header);
    auto* at = static_cast<nlattr*>(mnl_nlmsg_get_payload_offset(header, sizeof(nfgenmsg)));
    while (at < end && mnl_attr_get_type(at) != NFTA_SET_ELEM_LIST_ELEMENTS)
        at = mnl_attr_next(at);
    if (at >= end)
        return;
    auto* element = static_cast<nlattr*>(mnl_attr_get_payload(at)); // the message's last attribute
    for (; element < end; element = mnl_attr_next(element))
        element->nla_type = NLA_F_NESTED | NFTA_LIST_ELEM;
}

net::Step elements_step(const std::string& doing, int type, const Table& table, nftnl_set* set,
                        unsigned flags)
{
    return message(
        doing, type, table, flags,
        [&](nlmsghdr* header) {
            nftnl_set_elems_nlmsg_build_payload(header, set);
            name_elements(header);
        },
        elements_size);
}

struct Shape {
    std::uint32_t type = 0; // nft(8)'s number for the type: six bits per part of the key
    std::uint32_t size = 0; // bytes of a key
    Bytes parts;            // the sizes of the parts, if a key has several
};
Shape shape_of(Keys keys)
{
    constexpr std::uint32_t ipv4_addr = 7;
    constexpr std::uint32_t ipv6_addr = 8;
    constexpr std::uint32_t ifname = 41;
    constexpr std::uint32_t protocol_and_port = 12 << 6 | 13;
    switch (keys) {
    case Keys::address4: return {ipv4_addr, 4, {}};
    case Keys::address6: return {ipv6_addr, 16, {}};
    case Keys::link: return {ifname, IFNAMSIZ, {}};
    case Keys::reach4: return {ipv4_addr << 12 | protocol_and_port, 12, {4, 1, 2}};
    case Keys::reach6: return {ipv6_addr << 12 | protocol_and_port, 24, {16, 1, 2}};
    }
    return {};
}

std::uint32_t flags_of(const Set& set, const Shape& shape)
{
    const std::uint32_t parts = shape.parts.empty() ? 0 : NFT_SET_CONCAT;
    switch (set.kind) {
    case Kind::single: return parts;
    case Kind::ranges: return parts | NFT_SET_INTERVAL;
    case Kind::denied: return parts | NFT_SET_EVAL | NFT_SET_TIMEOUT;
    }
    return parts;
}

// Says that the keys are in host order. Without this nft(8) lists every name as "".
void set_host_order(nftnl_set* set)
{
    constexpr std::uint32_t host_endian = 1; // nft's enum byteorder
    using Data = std::unique_ptr<nftnl_udata_buf, Releaser<nftnl_udata_buf_free>>;
    const Data data(nftnl_udata_buf_alloc(NFT_USERDATA_MAXLEN));
    nftnl_udata_put_u32(data.get(), NFTNL_UDATA_SET_KEYBYTEORDER, host_endian);
    nftnl_set_set_data(set, NFTNL_SET_USERDATA, nftnl_udata_buf_data(data.get()),
                       nftnl_udata_buf_len(data.get()));
}

void add_to(nftnl_set* set, const Element& element)
{
    nftnl_set_elem* const made = nftnl_set_elem_alloc();
    nftnl_set_elem_set(made, NFTNL_SET_ELEM_KEY, element.key.data(),
                       static_cast<std::uint32_t>(element.key.size()));
    if (!element.last.empty()) {
        nftnl_set_elem_set(made, NFTNL_SET_ELEM_KEY_END, element.last.data(),
                           static_cast<std::uint32_t>(element.last.size()));
    }
    if (element.is_end)
        nftnl_set_elem_set_u32(made, NFTNL_SET_ELEM_FLAGS, NFT_SET_ELEM_INTERVAL_END);
    if (!element.comment.empty())
        nftnl_set_elem_set(made, NFTNL_SET_ELEM_USERDATA, element.comment.data(),
                           static_cast<std::uint32_t>(element.comment.size()));
    nftnl_set_elem_add(set, made); // from here on the set owns it
}

NftRule rule_of(const Table& table, const std::string& chain)
{
    NftRule rule(nftnl_rule_alloc());
    nftnl_rule_set_str(rule.get(), NFTNL_RULE_TABLE, table.name);
    nftnl_rule_set_str(rule.get(), NFTNL_RULE_CHAIN, chain.c_str());
    return rule;
}

constexpr Table any_table = {NFPROTO_UNSPEC};
void nothing(nlmsghdr* /*header*/) {}

} // namespace

void append(std::vector<net::Step>& steps, std::vector<net::Step> more)
{
    for (net::Step& step : more)
        steps.push_back(std::move(step));
}

net::Step begin(std::uint32_t generation)
{
    std::vector<char> buffer(small_size);
    nlmsghdr* const header = nftnl_batch_begin(buffer.data(), 0);
    if (generation != 0)
        mnl_attr_put_u32(header, NFNL_BATCH_GENID, htonl(generation));
    return step_of("begin the nftables transaction", header);
}

net::Step commit()
{
    std::vector<char> buffer(small_size);
    return step_of("commit the nftables transaction", nftnl_batch_end(buffer.data(), 0));
}

net::Step add_table(const Table& table, Making making)
{
    return table_step("add", NFT_MSG_NEWTABLE, table, flags_for(making));
}

net::Step remove_table(const Table& table)
{
    return table_step("remove", NFT_MSG_DELTABLE, table, NLM_F_ACK);
}

net::Step remove_empty_table(const Table& table)
{
    return table_step("remove empty", NFT_MSG_DELTABLE, table, NLM_F_ACK | NLM_F_NONREC);
}

net::Step add_chain(const Table& table, const std::string& name, const Hook& hook, Making making)
{
    const NftChain chain = chain_named(table, name);
    nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_TYPE, hook.type);
    nftnl_chain_set_u32(chain.get(), NFTNL_CHAIN_HOOKNUM, hook.number);
    nftnl_chain_set_s32(chain.get(), NFTNL_CHAIN_PRIO, hook.priority);
    nftnl_chain_set_u32(chain.get(), NFTNL_CHAIN_POLICY, hook.policy);
    if (!hook.device.empty())
        nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_DEV, hook.device.c_str());
    return chain_step("add", NFT_MSG_NEWCHAIN, table, chain.get(), flags_for(making));
}

net::Step add_chain(const Table& table, const std::string& name, Making making)
{
    return chain_step("add", NFT_MSG_NEWCHAIN, table, chain_named(table, name).get(),
                      flags_for(making));
}

net::Step remove_chain(const Table& table, const std::string& name)
{
    return chain_step("remove", NFT_MSG_DELCHAIN, table, chain_named(table, name).get(), NLM_F_ACK);
}

net::Step remove_rules(const Table& table, const std::string& chain)
{
    return message("remove the rules of chain " + chain, NFT_MSG_DELRULE, table, NLM_F_ACK,
                   [&](nlmsghdr* header) {
                       nftnl_rule_nlmsg_build_payload(header, rule_of(table, chain).get());
                   });
}

net::Step add_set(const Table& table, const Set& set, Making making)
{
    const Shape shape = shape_of(set.keys);
    const NftSet made = set_named(table, set.name);
    nftnl_set_set_u32(made.get(), NFTNL_SET_FAMILY, table.family);
    nftnl_set_set_u32(made.get(), NFTNL_SET_ID, 1); // the kernel wants one; we never use it
    nftnl_set_set_u32(made.get(), NFTNL_SET_FLAGS, flags_of(set, shape));
    nftnl_set_set_u32(made.get(), NFTNL_SET_KEY_TYPE, shape.type);
    nftnl_set_set_u32(made.get(), NFTNL_SET_KEY_LEN, shape.size);
    if (!shape.parts.empty()) {
        nftnl_set_set_data(made.get(), NFTNL_SET_DESC_CONCAT, shape.parts.data(),
                           static_cast<std::uint32_t>(shape.parts.size()));
    }
    if (set.keys == Keys::link)
        set_host_order(made.get());
    if (set.kind == Kind::denied) {
        nftnl_set_set_u32(made.get(), NFTNL_SET_DESC_SIZE, most_denied_in_set);
        nftnl_set_set_u64(made.get(), NFTNL_SET_TIMEOUT, denied_ms);
    }
    return set_step("add set " + set.name, NFT_MSG_NEWSET, table, made.get(), flags_for(making));
}

net::Step remove_set(const Table& table, const Set& set)
{
    return set_step("remove set " + set.name, NFT_MSG_DELSET, table,
                    set_named(table, set.name).get(), NLM_F_ACK);
}

std::vector<net::Step> add_elements(const Table& table, const std::string& set,
                                    std::span<const Element> elements, Making making)
{
    std::vector<net::Step> steps;
    while (!elements.empty()) {
        const auto some = elements.first(std::min(elements.size(), most_elements));
        elements = elements.subspan(some.size());
        const NftSet with = set_named(table, set);
        for (const Element& element : some)
            add_to(with.get(), element);
        steps.push_back(elements_step("add elements to set " + set, NFT_MSG_NEWSETELEM, table,
                                      with.get(), flags_for(making)));
    }
    return steps;
}

net::Step remove_element(const Table& table, const std::string& set, const Element& element)
{
    const NftSet with = set_named(table, set);
    add_to(with.get(), element);
    return elements_step("remove an element of set " + set, NFT_MSG_DELSETELEM, table, with.get(),
                         NLM_F_ACK);
}

net::Step list_tables()
{
    return message("list tables", NFT_MSG_GETTABLE, any_table, NLM_F_DUMP, nothing);
}

net::Step list_chains(std::uint8_t family)
{
    return message("list chains", NFT_MSG_GETCHAIN, {family}, NLM_F_DUMP, nothing);
}

net::Step list_rules()
{
    return message("list rules", NFT_MSG_GETRULE, any_table, NLM_F_DUMP, nothing);
}

net::Step list_rules(const Table& table, const std::string& chain)
{
    return message("list the rules of chain " + chain, NFT_MSG_GETRULE, table, NLM_F_DUMP,
                   [&](nlmsghdr* header) {
                       nftnl_rule_nlmsg_build_payload(header, rule_of(table, chain).get());
                   });
}

net::Step list_sets(const Table& table)
{
    const NftSet of(nftnl_set_alloc());
    nftnl_set_set_str(of.get(), NFTNL_SET_TABLE, table.name);
    return set_step("list sets", NFT_MSG_GETSET, table, of.get(), NLM_F_DUMP);
}

net::Step list_elements(const Table& table, const std::string& set)
{
    return elements_step("list the elements of set " + set, NFT_MSG_GETSETELEM, table,
                         set_named(table, set).get(), NLM_F_DUMP);
}

net::Step get_generation()
{
    return message("ask for the ruleset's generation", NFT_MSG_GETGEN, any_table, NLM_F_ACK,
                   nothing);
}

// The get_ requests ask for an acknowledgement, which ends the answer as the end of a dump does.
net::Step get_table(const Table& table)
{
    return table_step("look at", NFT_MSG_GETTABLE, table, NLM_F_ACK);
}

net::Step get_chain(const Table& table, const std::string& name)
{
    return chain_step("look at", NFT_MSG_GETCHAIN, table, chain_named(table, name).get(),
                      NLM_F_ACK);
}

net::Step get_set(const Table& table, const std::string& name)
{
    return set_step("look at set " + name, NFT_MSG_GETSET, table, set_named(table, name).get(),
                    NLM_F_ACK);
}

net::Step get_element(const Table& table, const std::string& set, const Element& element)
{
    const NftSet with = set_named(table, set);
    add_to(with.get(), element);
    return elements_step("look for an element of set " + set, NFT_MSG_GETSETELEM, table, with.get(),
                         NLM_F_ACK);
}

} // namespace anchorhold::nft
