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

struct AllowRule {
    Destination to;
    std::vector<PortRange> ports; // never empty
    std::vector<Prefix> except;   // strictly inside `to`, which then is a Prefix
    friend bool operator==(const AllowRule&, const AllowRule&) = default;
};

std::string text_of(const PortRange& ports); // "tcp 5432-5439"
std::string text_of(const AllowRule& rule);  // "10.1.0.0/16 tcp 5432 udp 53 except 10.1.9.0/24"

constexpr std::size_t most_rules = 5000;
constexpr std::size_t most_rule_parts = 64; // ports, or exceptions, of one rule
constexpr std::size_t most_parts = 16384;   // of all rules of a list
constexpr std::size_t most_names = 256;     // of a list: each is to be resolved

// What the list is for decides what a rule leaves open. In an allow list no port means tcp 443 and
// no protocol means tcp; in a deny list they mean every port and both protocols.
enum class ListKind : std::uint8_t { allow, deny };

// An array of "github.com", "pypi.org:443", "[2001:db8::/32]:443" and of
// {"to":"10.1.0.0/16","ports":[{"port":5432,"endPort":5439,"protocol":"TCP"}],"except":[...]}.
Result<std::vector<AllowRule>> read_rules(json::View array, ListKind kind);
// An annotation's value: that array, or "github.com, pypi.org:443".
Result<std::vector<AllowRule>> parse_allow(std::string_view text);

// What both lists let through, exactly.
std::vector<AllowRule> intersect(const std::vector<AllowRule>& one,
                                 const std::vector<AllowRule>& other);
// `rules` without the ports at which `deny` covers the whole destination, and without the rules of
// which nothing is left. What a deny takes out of a destination's middle stays: whoever enforces
// the list asks the deny list first.
std::vector<AllowRule> drop_denied(const std::vector<AllowRule>& rules,
                                   const std::vector<AllowRule>& deny);

} // namespace anchorhold::rules
