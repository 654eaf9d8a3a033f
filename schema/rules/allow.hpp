// SPDX-License-Identifier: Apache-2.0
// The rules of an allow list and of its counterpart, the administrator's deny list.
#pragma once

#include "schema/json/json.hpp"
#include "schema/rules/destination.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace anchorhold::rules {

struct PortRange {
    std::uint16_t first = 443;
    std::uint16_t last = 443; // inclusive, first <= last
    bool udp = false;
    friend bool operator==(const PortRange&, const PortRange&) = default;
};

// What the gate makes of a TLS ClientHello on a connection to a name. A connection that is not TLS
// passes in any case.
enum class Tls : std::uint8_t {
    same_name, // the server name in it must be the name; one without a server name passes
    no_ech,    // the same, and it must have no Encrypted Client Hello, which may hide another name
    any,       // it is not looked at
};

struct AllowRule {
    Destination to;
    std::vector<PortRange> ports; // never empty
    std::vector<Prefix> except;   // strictly inside `to`, which is then a Prefix
    Tls tls = Tls::same_name;     // only of a name, and only the gate asks
    // The private ranges to which the name may lead. Only of a name, and only the gate asks.
    std::vector<Prefix> within = {};
    bool public_suffix = false; // a wildcard may stand at or above a public suffix
    friend bool operator==(const AllowRule&, const AllowRule&) = default;
};

std::string text_of(const PortRange& ports); // "tcp 5432-5439"
std::string text_of(const AllowRule& rule);  // "10.1.0.0/16 tcp 5432 udp 53 except 10.1.9.0/24"

constexpr std::size_t most_rules = 5000;
constexpr std::size_t most_rule_parts = 64; // most ports, or most exceptions, of one rule
// Most ports and exceptions of all rules of a list together.
constexpr std::size_t most_parts = 16384;
constexpr std::size_t most_names = 256; // most names of a list: each one has to be resolved

// The kind of list decides what a rule without ports or protocol means. In an allow list no port
// means tcp 443, and no protocol means tcp. In a deny list they mean every port and both protocols.
enum class ListKind : std::uint8_t {
    allow,  // of an annotation
    policy, // an administrator's allow list: a name may have "tls", "within", "public_suffix"
    deny,
    gate, // an allow list as the gate is told it: a name may have "tls" and "within"
};

// Reads an array whose entries are texts, like "github.com", "pypi.org:443" and
// "[2001:db8::/32]:443", or objects, like
// {"to":"10.1.0.0/16","ports":[{"port":5432,"endPort":5439,"protocol":"TCP"}],"except":[...]}.
// "tls" is "same-name", "no-ech" or "any"; "within" is an array of ranges; "public_suffix" is true
// or false. The gate's own list has no bound on names, because none of them is resolved before it
// is asked for.
// Refuses (invalid_request) a wrong entry with its place, and a list over the bounds above.
Result<std::vector<AllowRule>> read_rules(json::View array, ListKind kind);
// Reads an annotation's value: that array, or the short form "github.com, pypi.org:443". Refuses
// (invalid_request) as read_rules does.
Result<std::vector<AllowRule>> parse_allow(std::string_view text);

// Whose "tls", "within" and "public_suffix" hold for what two lists have in common.
enum class WordsOf : std::uint8_t {
    both,  // the stricter of both
    first, // the second list is an annotation's, which has none
};
// Returns rules for exactly what both lists let through.
std::vector<AllowRule> intersect(const std::vector<AllowRule>& one,
                                 const std::vector<AllowRule>& other,
                                 WordsOf words = WordsOf::both);
// Returns `rules` without the ports at which `deny` covers the whole destination. A rule with no
// ports left is dropped. If `deny` takes out only a part of a destination, the rule stays: whoever
// enforces the list asks the deny list first.
std::vector<AllowRule> drop_denied(const std::vector<AllowRule>& rules,
                                   const std::vector<AllowRule>& deny);

} // namespace anchorhold::rules
