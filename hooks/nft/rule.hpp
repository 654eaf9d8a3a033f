// SPDX-License-Identifier: Apache-2.0
// Makes a rule of nf_tables, expression by expression, as a step of a transaction. Pure.
#pragma once

#include "hooks/nft/messages.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

struct nftnl_expr; // NOLINT(readability-identifier-naming): the library's name
struct nftnl_rule; // NOLINT(readability-identifier-naming)

namespace anchorhold::nft {

enum class Side : std::uint8_t { source, destination };

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
    // Gives the packet to the socket that listens there (network byte order), and accepts it. The
    // socket sees the address that the packet was sent to. Without such a socket the packet goes on
    // to the next rule.
    net::Step capture(Ip ip, std::span<const std::uint8_t> address, std::uint16_t port);
    net::Step set_source_port(std::uint16_t port); // network byte order; the packet goes on
    net::Step remember(const std::string& set);    // adds the key, if there is room; then goes on
    net::Step end();                               // no verdict: the packet goes on

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
    Rule& load(std::uint32_t to, const void* data, std::uint32_t size);
    net::Step verdict(std::int32_t number, const char* chain, std::string_view word);
    net::Step finish(std::string_view word) const;

    Table table_;
    std::string chain_;
    std::unique_ptr<nftnl_rule, Free> rule_;
};

} // namespace anchorhold::nft
