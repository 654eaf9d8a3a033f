// SPDX-License-Identifier: Apache-2.0
// Messages of nf_tables: the parts of a transaction, each a step with the words for its refusal.
// Pure. A transaction is begin(), steps, commit(), sent as one.
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

using Bytes = std::vector<std::uint8_t>; // as the packet has them

struct Table {
    std::uint8_t family = 0;         // NFPROTO_INET, NFPROTO_NETDEV
    const char* name = "anchorhold"; // outlives this
};
enum class Making : std::uint8_t { exclusive, if_absent };

struct Hook {
    const char* type = "filter";
    std::uint32_t number = 0; // NF_INET_LOCAL_IN, NF_NETDEV_INGRESS
    std::int32_t priority = 0;
    std::uint32_t policy = 0; // NF_DROP, NF_ACCEPT
    std::string device;       // netdev only, and there always: without one it hooks nothing
};

enum class Ip : std::uint8_t { v4, v6 };
enum class Side : std::uint8_t { source, destination };

// What its keys are. A link is a name; a reach is address, layer 4 protocol and destination port.
enum class Keys : std::uint8_t { address4, address6, link, reach4, reach6 };
enum class Kind : std::uint8_t { single, ranges, remembered };
struct Set {
    std::string name;
    Keys keys = Keys::address4;
    Kind kind = Kind::single;
};
constexpr std::uint64_t denied_ms = 24ULL * 60 * 60 * 1000; // since the last packet
constexpr std::uint32_t most_denied_in_set = 1024;

struct Element {
    Bytes key;
    Bytes last; // the last key of a range of reaches; empty: none
    // A range of addresses is two elements: its first, and an end, the first behind it.
    bool is_end = false;
};

void append(std::vector<net::Step>& steps, std::vector<net::Step> more);
// Refused with ERESTART when the ruleset has changed since it had that generation; 0: any.
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

// A rule as it grows: what is loaded, what it is compared with, and last what happens.
class Rule {
public:
    Rule(const Table& table, std::string chain);

    Rule& meta(std::uint32_t key);      // NFT_META_OIF: loads it
    Rule& address(Side side, Ip ip);    // of packets of that version
    Rule& port(Side side);              // of tcp or udp: test the protocol first
    Rule& icmp6_type();                 // likewise
    Rule& reach(Ip ip);                 // the key of a set of reaches
    Rule& address_is_local();           // is the destination one of this namespace's own?
    Rule& acknowledges();               // tcp, and not the first packet of a connection
    Rule& has_state(std::uint32_t bit); // of the connection; turns its tracking on
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
    Rule& begins(std::string_view prefix); // of an interface's name
    Rule& begins_not(std::string_view prefix);
    Rule& protocol(std::uint8_t number); // IPPROTO_TCP
    Rule& in(const std::string& set);
    Rule& count();

    net::Step accept();
    net::Step drop();
    net::Step jump(const std::string& chain);
    net::Step reset();                   // of tcp: the connection is refused at once
    net::Step reject(std::uint8_t code); // NFT_REJECT_ICMPX_ADMIN_PROHIBITED
    net::Step masquerade();
    net::Step remember(const std::string& set); // and go on; when the set is full, only go on
    net::Step end();                            // go on

private:
    struct Free {
        void operator()(nftnl_rule* rule) const noexcept;
    };
    nftnl_expr* add(const char* name);
    Rule& compare(std::uint32_t operation, const void* data, std::uint32_t size);
    Rule& payload(std::uint32_t base, std::uint32_t offset, std::uint32_t size, std::uint32_t to);
    Rule& version(Ip ip);
    net::Step verdict(std::int32_t number, const char* chain, std::string_view word);
    net::Step finish(std::string_view word) const;

    Table table_;
    std::string chain_;
    std::unique_ptr<nftnl_rule, Free> rule_;
};

// Requests. What they list is read by hooks/nft/ruleset.hpp.
net::Step list_tables();
net::Step list_chains(std::uint8_t family); // NFPROTO_UNSPEC: of all
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
