// SPDX-License-Identifier: Apache-2.0
// The network of a sealed or filtered run, as data: what its packets may do. It is written into the
// record before the first change to the host. The hooks carry it out and compare it with the
// kernel's state, and `anchorhold check` asks it.
#pragma once

#include "schema/rules/allow.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace anchorhold::rules {

std::string dotted(std::uint32_t address); // IPv4, host byte order: "198.18.0.1"

// A /30 of the pool. The host's end of the link has the first address, the container's end the
// second.
struct Subnet {
    std::uint32_t base = 0; // IPv4, host byte order, a multiple of 4
    std::uint32_t gateway() const { return base + 1; }
    std::uint32_t inside() const { return base + 2; }
    std::string text() const;         // "198.18.0.0/30"
    std::string gateway_text() const; // "198.18.0.1"
    std::string inside_text() const;
    static Result<Subnet> parse(std::string_view text, Code code); // reads what text() writes
    friend bool operator==(const Subnet&, const Subnet&) = default;
};

// One range of addresses at one range of ports of one protocol.
struct Reach {
    Prefix to;
    PortRange ports;
    std::string text() const; // "10.1.0.0/16 tcp 5432-5439"
    friend bool operator==(const Reach&, const Reach&) = default;
};

// A name of the hosts file, with the addresses it had when the run was created.
struct PinnedName {
    std::string name;
    std::vector<std::string> addresses; // canonical
    friend bool operator==(const PinnedName&, const PinnedName&) = default;
};

struct Network {
    Prefix pool = default_pool();
    bool enable_forwarding = false;          // from the policy: "forwarding": "enable"
    std::vector<std::uint16_t> broker_ports; // tcp ports at the host's end of the link
    std::vector<Reach> allow;                // of a filtered run; asked after `deny`
    std::vector<Reach> deny;                 // every `except`, and the policy's `deny`
    std::vector<PinnedName> names;
    // The following are known once the hook has done its work.
    std::optional<Subnet> subnet;       // of technique veth
    std::uint32_t link = 0;             // index of the link's end on the host
    std::vector<Prefix> node;           // the host's own addresses at that time
    std::vector<std::string> node_macs; // of technique in place: the host's, where they are known
    std::vector<Prefix> delivered;      // what else the host delivers to itself: broadcast, anycast
    std::vector<Prefix> guest;          // of technique in place: the container's own addresses
    std::vector<std::uint32_t> links;   // indexes of the links in the container's namespace
    static Prefix default_pool();       // 198.18.0.0/16: RFC 2544, less the handles
    friend bool operator==(const Network&, const Network&) = default;
};

// Returns "ah" and the 12 digits of the key: the name of the link's end on the host, and of the
// chains that belong to this run alone.
std::string link_name(std::string_view key);
constexpr const char* inside_link = "eth0"; // the container's end of a veth

// Returns whether the address is in RFC 1918, 100.64.0.0/10 or fc00::/7. Only an explicit address
// rule reaches these, never a name.
bool is_private(const Prefix& address);

// Turns rules into reaches and adds them to `network`. An allowed name becomes those of its pinned
// addresses that are neither private nor always denied. A name without a pinned address, or a
// wildcard, becomes nothing. A denied name becomes every address of the pinned names it covers.
// `except` goes to `deny`, at the ports of its rule.
void compile(const std::vector<AllowRule>& allow, const std::vector<AllowRule>& deny,
             Network& network);

enum class Ruling : std::uint8_t { always_denied, denied, allowed, not_listed };
struct Judgement {
    Ruling ruling = Ruling::not_listed;
    std::string rule; // text of the rule that decided; empty: none did
    friend bool operator==(const Judgement&, const Judgement&) = default;
};
// Judges in the order of the kernel's tables: always denied (with the node's own addresses), deny,
// allow.
Judgement judge(const Network& network, const Prefix& address, std::uint16_t port, bool udp);

// A destination that was tried and denied, as the kernel's set remembers it.
struct Denied {
    std::string to; // an address
    std::uint16_t port = 0;
    bool udp = false;
    std::int64_t last = 0; // time of the last attempt, seconds since the epoch
    friend bool operator==(const Denied&, const Denied&) = default;
};

} // namespace anchorhold::rules
