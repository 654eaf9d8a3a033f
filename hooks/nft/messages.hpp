// SPDX-License-Identifier: Apache-2.0
// Makes the messages of nf_tables. Each part of a transaction is a step, with the words for its
// refusal. A transaction is begin(), then steps, then commit(), all sent in one datagram. Pure.
#pragma once

#include "hooks/net/netlink.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

struct nftnl_expr; // NOLINT(readability-identifier-naming): the library's name
struct nftnl_rule; // NOLINT(readability-identifier-naming)

namespace anchorhold::nft {

using Bytes = std::vector<std::uint8_t>; // in the order in which a packet has them

struct Table {
    std::uint8_t family = 0;         // NFPROTO_INET, NFPROTO_NETDEV
    const char* name = "anchorhold"; // not owned; must outlive this object
};
enum class Making : std::uint8_t {
    exclusive, // EEXIST if it is there
    if_absent, // one that is there is used
};

struct Hook {
    const char* type = "filter";
    std::uint32_t number = 0; // NF_INET_LOCAL_IN, NF_NETDEV_INGRESS
    std::int32_t priority = 0;
    std::uint32_t policy = 0; // NF_DROP, NF_ACCEPT
    std::string device;       // for netdev only, which needs one: else the chain sees no packet
};

enum class Ip : std::uint8_t { v4, v6 };
enum class Side : std::uint8_t { source, destination };

enum class Keys : std::uint8_t {
    address4,
    address6,
    link,   // an interface's name
    reach4, // an address, a layer 4 protocol and a destination port
    reach6,
};
enum class Kind : std::uint8_t {
    single, // each element is one key
    ranges, // an element may be a range of keys
    denied, // rules add the keys, and each ends after denied_ms
};
struct Set {
    std::string name;
    Keys keys = Keys::address4;
    Kind kind = Kind::single;
};
constexpr std::uint64_t denied_ms = 24ULL * 60 * 60 * 1000; // a day after the last packet
constexpr std::uint32_t most_denied_in_set = 1024;

struct Element {
    Bytes key;
    Bytes last; // the last key of a range of reaches; empty when it is no range
    // A range of addresses is two elements: its first address, and an end. The end has this flag
    // and the first address behind the range.
    bool is_end = false;
};

void append(std::vector<net::Step>& steps, std::vector<net::Step> more);
// Begins a transaction. The kernel refuses it with ERESTART when the ruleset has changed since it
// had that generation. 0 means any generation.
net::Step begin(std::uint32_t generation = 0);
net::Step commit();
net::Step add_table(const Table& table, Making making);
net::Step remove_table(const Table& table);
net::Step remove_empty_table(const Table& table); // refused with EBUSY if anything is in it
net::Step add_chain(const Table& table, const std::string& name, const Hook& hook, Making making);
net::Step add_chain(const Table& table, const std::string& name, Making making); // to jump to
net::Step remove_chain(const Table& table, const std::string& name);             // with its rules
net::Step remove_rules(const Table& table, const std::string& chain);
net::Step add_set(const Table& table, const Set& set, Making making);
net::Step remove_set(const Table& table, const Set& set);
std::vector<net::Step> add_elements(const Table& table, const std::string& set,
                                    std::span<const Element> elements, Making making);
net::Step remove_element(const Table& table, const std::string& set, const Element& element);

// A rule is built from left to right: it loads a value, compares it, and ends with a verdict.
class Rule {
public:
    Rule(const Table& table, std::string chain);

    Rule& meta(std::uint32_t key);   // loads a fact about the packet, such as NFT_META_OIF
    Rule& address(Side side, Ip ip); // loads an address; only packets of that version match
    Rule& port(Side side);           // loads a tcp or udp port; test the protocol first
    Rule& icmp6_type();              // loads the type; test the protocol first
    Rule& reach(Ip ip);              // loads the key of a set of reaches
    Rule& address_is_local();        // tests that the destination is this namespace's own
    // Tests that this namespace would deliver the packet to itself: the destination is its own, a
    // broadcast or an anycast address of one of its links, or a multicast group. It asks the
    // routing table for each packet, so it follows every change of addresses.
    Rule& is_delivered_here();
    Rule& is_from_mac(const std::string& mac); // "06:23:45:67:89:ab"; only on such links
    Rule& source_is_foreign(); // tests that no link of this namespace has the source's address
    Rule& acknowledges();      // tests the tcp flag ACK, which a first packet never has
    Rule& has_state(std::uint32_t bit); // tests the connection's state; turns tracking on
    Rule& is_sent_elsewhere(bool is);   // tests whether a DNAT rule changed the connection's target
    template <typename Value> Rule& equals(const Value& value)
    {
        static_assert(std::has_unique_object_representations_v<Value>);
        return compare(0, &value, sizeof value);
    }
    template <typename Value> Rule& differs(const Value& value)
    {
        static_assert(std::has_unique_object_representations_v<Value>);
        return compare(1, &value, sizeof value);
    }
    Rule& begins(std::string_view prefix); // compares the beginning of an interface's name
    Rule& begins_not(std::string_view prefix);
    Rule& protocol(std::uint8_t number); // IPPROTO_TCP
    Rule& in(const std::string& set);
    Rule& count();

    net::Step accept();
    net::Step drop();
    net::Step jump(const std::string& chain);
    net::Step reset();                   // refuses a tcp connection at once
    net::Step reject(std::uint8_t code); // NFT_REJECT_ICMPX_ADMIN_PROHIBITED
    net::Step masquerade();
    net::Step remember(const std::string& set); // adds the key, if there is room; then goes on
    net::Step end();                            // no verdict: the packet goes on

private:
    struct Free {
        void operator()(nftnl_rule* rule) const noexcept;
    };
    nftnl_expr* add(const char* name);
    Rule& address_type(Side side); // loads it as the routing table has it: RTN_LOCAL
    Rule& tracked(std::uint32_t key, std::uint32_t bit); // loads a bit of the connection's
    Rule& compare(std::uint32_t operation, const void* data, std::uint32_t size);
    Rule& payload(std::uint32_t base, std::uint32_t offset, std::uint32_t size, std::uint32_t to);
    Rule& version(Ip ip);
    net::Step verdict(std::int32_t number, const char* chain, std::string_view word);
    net::Step finish(std::string_view word) const;

    Table table_;
    std::string chain_;
    std::unique_ptr<nftnl_rule, Free> rule_;
};

// The requests that read. hooks/nft/ruleset_text.hpp reads their answers.
net::Step list_tables();
net::Step list_chains(std::uint8_t family); // NFPROTO_UNSPEC means every family
net::Step list_sets(const Table& table);
net::Step list_rules();
net::Step list_rules(const Table& table, const std::string& chain);
net::Step list_elements(const Table& table, const std::string& set);
net::Step get_generation(); // of the namespace's whole ruleset
net::Step get_table(const Table& table);
net::Step get_chain(const Table& table, const std::string& name);
net::Step get_set(const Table& table, const std::string& name);
net::Step get_element(const Table& table, const std::string& set, const Element& element);

} // namespace anchorhold::nft
