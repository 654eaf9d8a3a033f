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
    Bytes comment = {}; // see comment_of()
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
