// SPDX-License-Identifier: Apache-2.0
// No line shows the elements of a denied set, or a counter's number: they change while the run
// lives and are no part of a plan.
#include "hooks/nft/ruleset_text.hpp"

#include "hooks/nft/elements.hpp"
#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <libnftnl/expr.h>
#include <libnftnl/gen.h>
#include <libnftnl/rule.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>
#include <netinet/in.h>
#include <tuple>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

namespace anchorhold::nft {
namespace {

constexpr std::size_t text_size = 4096;

template <auto Release> struct ReadReleaser {
    template <typename T> void operator()(T* object) const noexcept { Release(object); }
};
using ReadTable = std::unique_ptr<nftnl_table, ReadReleaser<nftnl_table_free>>;
using ReadChain = std::unique_ptr<nftnl_chain, ReadReleaser<nftnl_chain_free>>;
using ReadRule = std::unique_ptr<nftnl_rule, ReadReleaser<nftnl_rule_free>>;
using ReadSet = std::unique_ptr<nftnl_set, ReadReleaser<nftnl_set_free>>;
using ReadGeneration = std::unique_ptr<nftnl_gen, ReadReleaser<nftnl_gen_free>>;

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

std::string_view text_or_nothing(const char* text)
{
    return text == nullptr ? std::string_view() : std::string_view(text);
}

// Says whether an object is in `table`: name and family are both the table's.
bool is_in(const nft::Table& table, std::uint32_t family, const char* name)
{
    return family == table.family && text_or_nothing(name) == table.name;
}

std::uint32_t family_of(const nlmsghdr* header)
{
    return static_cast<const nfgenmsg*>(mnl_nlmsg_get_payload(header))->nfgen_family;
}

Result<ReadTable> table_in(const nlmsghdr* header)
{
    ReadTable table(nftnl_table_alloc());
    if (nftnl_table_nlmsg_parse(header, table.get()) < 0)
        return fail_errno("read a table", errno);
    return table;
}

Status read_table(Ruleset& ruleset, const nft::Table& ours, const nlmsghdr* header)
{
    AH_TRY(const ReadTable table, table_in(header));
    const std::uint32_t family = nftnl_table_get_u32(table.get(), NFTNL_TABLE_FAMILY);
    const char* const name = nftnl_table_get_str(table.get(), NFTNL_TABLE_NAME);
    const std::string words = family_word(family) + " " + printable(text_or_nothing(name));
    if (!is_in(ours, family, name)) {
        ruleset.others.push_back(words);
        return {};
    }
    const std::uint32_t flags = nftnl_table_get_u32(table.get(), NFTNL_TABLE_FLAGS); // dormant?
    ruleset.ours.push_back("table " + words + " flags " + std::to_string(flags));
    return {};
}

// Includes a netdev chain's device: without one, or after a renaming, the chain sees no packet.
std::string hook_text(const nftnl_chain* chain)
{
    std::string line = " type ";
    line += text_or_nothing(nftnl_chain_get_str(chain, NFTNL_CHAIN_TYPE));
    line += " hook " + std::to_string(nftnl_chain_get_u32(chain, NFTNL_CHAIN_HOOKNUM));
    line += " prio " + std::to_string(nftnl_chain_get_s32(chain, NFTNL_CHAIN_PRIO));
    line += " policy " + std::to_string(nftnl_chain_get_u32(chain, NFTNL_CHAIN_POLICY));
    if (nftnl_chain_is_set(chain, NFTNL_CHAIN_DEV)) {
        line += " device ";
        line += text_or_nothing(nftnl_chain_get_str(chain, NFTNL_CHAIN_DEV));
    }
    return line;
}

Result<ReadChain> chain_in(const nlmsghdr* header)
{
    ReadChain chain(nftnl_chain_alloc());
    if (nftnl_chain_nlmsg_parse(header, chain.get()) < 0)
        return fail_errno("read a chain", errno);
    return chain;
}

Status read_chain(Ruleset& ruleset, const nft::Table& ours, const nlmsghdr* header)
{
    AH_TRY(const ReadChain chain, chain_in(header));
    const nftnl_chain* const c = chain.get();
    if (!is_in(ours, family_of(header), nftnl_chain_get_str(c, NFTNL_CHAIN_TABLE)))
        return {};
    std::string line = "chain ";
    line += text_or_nothing(nftnl_chain_get_str(c, NFTNL_CHAIN_NAME));
    if (nftnl_chain_is_set(c, NFTNL_CHAIN_HOOKNUM))
        line += hook_text(c);
    ruleset.ours.push_back(std::move(line));
    return {};
}

int append_expression(nftnl_expr* expression, void* data)
{
    const auto name = text_or_nothing(nftnl_expr_get_str(expression, NFTNL_EXPR_NAME));
    std::string& line = *static_cast<std::string*>(data);
    line += " [ " + std::string(name) + " ";
    if (name != "counter") {
        std::array<char, text_size> text{};
        nftnl_expr_snprintf(text.data(), text.size(), expression, NFTNL_OUTPUT_DEFAULT, 0);
        line += text.data();
    }
    line += "]";
    return 0;
}

Status read_rule(Ruleset& ruleset, const nft::Table& ours, const nlmsghdr* header)
{
    const ReadRule rule(nftnl_rule_alloc());
    if (nftnl_rule_nlmsg_parse(header, rule.get()) < 0)
        return fail_errno("read a rule", errno);
    if (!is_in(ours, family_of(header), nftnl_rule_get_str(rule.get(), NFTNL_RULE_TABLE)))
        return {};
    std::string line = "rule ";
    line += text_or_nothing(nftnl_rule_get_str(rule.get(), NFTNL_RULE_CHAIN));
    if (nftnl_expr_foreach(rule.get(), append_expression, &line) != 0)
        return fail(Code::network_setup_failed, "read a rule: its expressions are unreadable");
    ruleset.ours.push_back(std::move(line));
    return {};
}

int add_count(nftnl_expr* expression, void* data)
{
    if (text_or_nothing(nftnl_expr_get_str(expression, NFTNL_EXPR_NAME)) == "counter") {
        *static_cast<std::uint64_t*>(data) +=
            nftnl_expr_get_u64(expression, NFTNL_EXPR_CTR_PACKETS);
    }
    return 0;
}

std::string hexadecimal(std::span<const std::uint8_t> bytes)
{
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t byte : bytes) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

Status read_set(Ruleset& ruleset, const nft::Table& ours, const nlmsghdr* header)
{
    const ReadSet set(nftnl_set_alloc());
    if (nftnl_set_nlmsg_parse(header, set.get()) < 0)
        return fail_errno("read a set", errno);
    const nftnl_set* const s = set.get();
    if (!is_in(ours, family_of(header), nftnl_set_get_str(s, NFTNL_SET_TABLE)))
        return {};
    std::string line = "set ";
    line += text_or_nothing(nftnl_set_get_str(s, NFTNL_SET_NAME));
    line += " flags " + std::to_string(nftnl_set_get_u32(s, NFTNL_SET_FLAGS));
    line += " key " + std::to_string(nftnl_set_get_u32(s, NFTNL_SET_KEY_LEN));
    if (nftnl_set_is_set(s, NFTNL_SET_DESC_CONCAT)) {
        std::uint32_t size = 0;
        const void* const parts = nftnl_set_get_data(s, NFTNL_SET_DESC_CONCAT, &size);
        line += " parts " + hexadecimal({static_cast<const std::uint8_t*>(parts), size});
    }
    if (nftnl_set_is_set(s, NFTNL_SET_TIMEOUT))
        line += " timeout " + std::to_string(nftnl_set_get_u64(s, NFTNL_SET_TIMEOUT));
    ruleset.ours.push_back(std::move(line));
    return {};
}

struct Read {
    ReadSet set;
    std::vector<nftnl_set_elem*> elements; // owned by `set`
};
Result<Read> elements_in(const nlmsghdr* header)
{
    Read read{ReadSet(nftnl_set_alloc()), {}};
    if (nftnl_set_elems_nlmsg_parse(header, read.set.get()) < 0)
        return fail_errno("read a set's elements", errno);
    const auto keep = [](nftnl_set_elem* element, void* data) {
        static_cast<Read*>(data)->elements.push_back(element);
        return 0;
    };
    (void)nftnl_set_elem_foreach(read.set.get(), keep, &read); // `keep` never fails
    return read;
}

std::span<const std::uint8_t> key_of(nftnl_set_elem* element, std::uint16_t which)
{
    std::uint32_t size = 0;
    if (!nftnl_set_elem_is_set(element, which))
        return {};
    const void* const key = nftnl_set_elem_get(element, which, &size);
    return {static_cast<const std::uint8_t*>(key), size};
}

Status read_elements(Ruleset& ruleset, const nft::Table& ours, const nlmsghdr* header)
{
    AH_TRY(const Read read, elements_in(header));
    if (!is_in(ours, family_of(header), nftnl_set_get_str(read.set.get(), NFTNL_SET_TABLE)))
        return {};
    const std::string_view set = text_or_nothing(nftnl_set_get_str(read.set.get(), NFTNL_SET_NAME));
    for (nftnl_set_elem* const element : read.elements) {
        std::string line(set);
        line += " " + hexadecimal(key_of(element, NFTNL_SET_ELEM_KEY));
        if (nftnl_set_elem_is_set(element, NFTNL_SET_ELEM_KEY_END))
            line += "-" + hexadecimal(key_of(element, NFTNL_SET_ELEM_KEY_END));
        if (nftnl_set_elem_is_set(element, NFTNL_SET_ELEM_FLAGS) &&
            (nftnl_set_elem_get_u32(element, NFTNL_SET_ELEM_FLAGS) & NFT_SET_ELEM_INTERVAL_END))
            line += " end";
        const std::string comment = comment_in(key_of(element, NFTNL_SET_ELEM_USERDATA));
        line += comment.empty() ? "" : " " + comment;
        ruleset.elements.push_back(std::move(line));
    }
    return {};
}

// Returns the name in a line "set NAME flags N ...", if the set's elements are part of a plan.
std::string planned_set(std::string_view line)
{
    constexpr std::string_view prefix = "set ";
    if (!line.starts_with(prefix) || line.contains(" timeout "))
        return {};
    return std::string(line.substr(prefix.size(), line.find(' ', prefix.size()) - prefix.size()));
}

rules::Denied denied_of(nftnl_set_elem* element, std::int64_t now)
{
    const auto key = key_of(element, NFTNL_SET_ELEM_KEY);
    const std::size_t address = key.size() == 12 ? 4 : 16; // behind it: the protocol, the port
    std::array<char, INET6_ADDRSTRLEN> text{};
    ::inet_ntop(address == 4 ? AF_INET : AF_INET6, key.data(), text.data(), text.size());
    const std::uint64_t left = nftnl_set_elem_get_u64(element, NFTNL_SET_ELEM_EXPIRATION);
    const std::uint64_t age = nft::denied_ms - std::min(left, nft::denied_ms);
    return {text.data(), static_cast<std::uint16_t>(key[address + 4] << 8 | key[address + 5]),
            key[address] == IPPROTO_UDP, now - static_cast<std::int64_t>(age / 1000)};
}

} // namespace

Status read_into(Ruleset& ruleset, const nft::Table& ours, const net::Message& message)
{
    const nlmsghdr* const header = net::header_of(message);
    if (NFNL_SUBSYS_ID(header->nlmsg_type) != NFNL_SUBSYS_NFTABLES)
        return {};
    switch (NFNL_MSG_TYPE(header->nlmsg_type)) {
    case NFT_MSG_NEWTABLE: return read_table(ruleset, ours, header);
    case NFT_MSG_NEWCHAIN: return read_chain(ruleset, ours, header);
    case NFT_MSG_NEWRULE: return read_rule(ruleset, ours, header);
    case NFT_MSG_NEWSET: return read_set(ruleset, ours, header);
    case NFT_MSG_NEWSETELEM: return read_elements(ruleset, ours, header);
    default: return {};
    }
}

Result<Ruleset> describe(const nft::Table& ours, std::span<const net::Step> steps)
{
    Ruleset ruleset;
    for (const net::Step& step : steps)
        AH_CHECK(read_into(ruleset, ours, step.message), "describe table anchorhold");
    std::ranges::sort(ruleset.elements);
    return ruleset;
}

Result<Ruleset> ask(net::Netlink& nftables, const nft::Table& ours,
                    std::span<const net::Step> requests)
{
    Ruleset ruleset;
    for (const net::Step& request : requests) {
        const auto messages = nftables.list(request);
        if (!messages && messages.error().number == ENOENT)
            continue;
        if (!messages)
            return std::unexpected(messages.error());
        for (const net::Message& message : *messages)
            AH_CHECK(read_into(ruleset, ours, message));
    }
    std::ranges::sort(ruleset.elements);
    return ruleset;
}

Result<Ruleset> ask_all(net::Netlink& nftables, const nft::Table& ours)
{
    const std::array tables = {nft::list_tables()};
    AH_TRY(Ruleset ruleset, ask(nftables, ours, tables));
    if (ruleset.ours.empty())
        return ruleset; // there is no table of ours
    const std::array rest = {nft::list_chains(NFPROTO_UNSPEC), nft::list_sets(ours),
                             nft::list_rules()};
    AH_TRY(Ruleset objects, ask(nftables, ours, rest));
    std::vector<net::Step> requests;
    for (const std::string& line : objects.ours) {
        if (const std::string set = planned_set(line); !set.empty())
            requests.push_back(nft::list_elements(ours, set));
    }
    AH_TRY(Ruleset elements, ask(nftables, ours, requests));
    std::ranges::move(objects.ours, std::back_inserter(ruleset.ours));
    ruleset.elements = std::move(elements.elements);
    return ruleset;
}

Result<std::vector<TableUse>> ask_tables(net::Netlink& nftables)
{
    AH_TRY(const auto messages, nftables.list(nft::list_tables()));
    std::vector<TableUse> tables;
    for (const net::Message& message : messages) {
        AH_TRY(const ReadTable table, table_in(net::header_of(message)));
        tables.push_back(
            {nftnl_table_get_u32(table.get(), NFTNL_TABLE_FAMILY),
             std::string(text_or_nothing(nftnl_table_get_str(table.get(), NFTNL_TABLE_NAME))),
             nftnl_table_get_u32(table.get(), NFTNL_TABLE_USE)});
    }
    return tables;
}

Result<std::vector<ChainName>> ask_chains(net::Netlink& nftables, std::uint8_t family)
{
    AH_TRY(const auto messages, nftables.list(nft::list_chains(family)));
    std::vector<ChainName> chains;
    for (const net::Message& message : messages) {
        AH_TRY(const ReadChain chain, chain_in(net::header_of(message)));
        chains.push_back(
            {std::string(text_or_nothing(nftnl_chain_get_str(chain.get(), NFTNL_CHAIN_TABLE))),
             std::string(text_or_nothing(nftnl_chain_get_str(chain.get(), NFTNL_CHAIN_NAME)))});
    }
    return chains;
}

Result<std::uint32_t> ask_generation(net::Netlink& nftables)
{
    AH_TRY(const auto messages, nftables.list(nft::get_generation()));
    const ReadGeneration generation(nftnl_gen_alloc());
    if (messages.empty() ||
        nftnl_gen_nlmsg_parse(net::header_of(messages.front()), generation.get()) < 0)
        return fail_errno("read the ruleset's generation", messages.empty() ? ENOMSG : errno);
    return nftnl_gen_get_u32(generation.get(), NFTNL_GEN_ID);
}

Result<std::uint64_t> count_packets(std::span<const net::Message> rules)
{
    std::uint64_t packets = 0;
    for (const net::Message& message : rules) {
        const ReadRule rule(nftnl_rule_alloc());
        if (nftnl_rule_nlmsg_parse(net::header_of(message), rule.get()) < 0)
            return fail_errno("read a rule's counter", errno);
        (void)nftnl_expr_foreach(rule.get(), add_count, &packets); // add_count never fails
    }
    return packets;
}

Result<std::vector<rules::Denied>> read_denied(std::span<const net::Message> listed,
                                               std::int64_t now)
{
    std::vector<rules::Denied> denied;
    for (const net::Message& message : listed) {
        AH_TRY(const Read read, elements_in(net::header_of(message)));
        for (nftnl_set_elem* const element : read.elements) {
            const std::size_t size = key_of(element, NFTNL_SET_ELEM_KEY).size();
            if (size == 12 || size == 24)
                denied.push_back(denied_of(element, now));
        }
    }
    std::ranges::sort(denied, {}, [](const rules::Denied& one) {
        return std::tie(one.last, one.to, one.port, one.udp);
    });
    return denied;
}

} // namespace anchorhold::nft
