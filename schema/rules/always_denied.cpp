// SPDX-License-Identifier: Apache-2.0
// The ranges that no rule and no name opens. The clouds' metadata services are among them, because
// they hand out the machine's own credentials to anybody who can send them a packet.
#include "schema/rules/always_denied.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace anchorhold::rules {
namespace {

constexpr std::array v4_ranges{
    "0.0.0.0/8",       "127.0.0.0/8", "169.254.0.0/16",
    "224.0.0.0/4",     "240.0.0.0/4", "192.0.0.0/24", // 192.0.0.192: Oracle's metadata
    "168.63.129.16",                                  // Azure's
    "100.100.100.200",                                // Alibaba's
};
constexpr std::array v6_ranges{
    "::/96", // unspecified, loopback, and the v4-compatible ones
    "::ffff:0:0:0/96",
    "64:ff9b:1::/48",
    "2001::/32",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
    "fd00:ec2::/32",      // Amazon's, with its metadata
    "fd20:ce::254",       // Google's
    "fd00:c1::a9fe:a9fe", // Oracle's
    "fd00:42::42",        // Scaleway's
};
constexpr std::array private_v4{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"};

Prefix literal(const std::string& text)
{
    // Cannot fail: the tables above, and text made from them.
    return *Prefix::parse(text, Code::invalid_policy);
}

// Returns a v4 range, and the two v6 ranges in which translators (RFC 6052) and 6to4 relays (RFC
// 3056) lead to it.
std::array<Prefix, 3> with_embedded(const Prefix& v4)
{
    const auto& at = v4.bytes();
    std::array<char, 32> hex{};
    std::snprintf(hex.data(), hex.size(), "%02x%02x:%02x%02x", at[0], at[1], at[2], at[3]);
    const auto length = [&](unsigned before) { return "/" + std::to_string(before + v4.length()); };
    return {v4, literal("64:ff9b::" + std::string(hex.data()) + length(96)),
            literal("2002:" + std::string(hex.data()) + "::" + length(16))};
}

// Adds a range unless another holds it, and drops those it holds: an interval set of the kernel
// takes no element that lies in another one.
void add(std::vector<Prefix>& ranges, const Prefix& range)
{
    if (is_covered(range, ranges))
        return;
    std::erase_if(ranges, [&](const Prefix& other) { return range.contains(other); });
    ranges.push_back(range);
}

std::vector<Prefix> private_ranges()
{
    std::vector<Prefix> ranges{literal("fc00::/7")};
    for (const char* const text : private_v4) {
        const auto embedded = with_embedded(literal(text));
        ranges.insert(ranges.end(), embedded.begin(), embedded.end());
    }
    return ranges;
}

std::vector<Prefix> denied_ranges()
{
    std::vector<Prefix> ranges;
    for (const char* const text : v4_ranges) {
        for (const Prefix& range : with_embedded(literal(text)))
            add(ranges, range);
    }
    for (const char* const text : v6_ranges)
        add(ranges, literal(text));
    return ranges;
}

} // namespace

std::vector<Prefix> always_denied(const Prefix& pool)
{
    static const std::vector<Prefix> whatever_pool = denied_ranges();
    std::vector<Prefix> ranges = whatever_pool;
    for (const Prefix& range : with_embedded(pool))
        add(ranges, range);
    return ranges;
}

bool is_private(const Prefix& address)
{
    static const std::vector<Prefix> ranges = private_ranges();
    return std::ranges::any_of(ranges, [&](const Prefix& range) {
        return range.contains(address) || address.contains(range);
    });
}

} // namespace anchorhold::rules
