// SPDX-License-Identifier: Apache-2.0
// A destination of packets: a range of addresses, or host names. Values are canonical, so equal
// means the same.
#pragma once

#include "schema/error.hpp"
#include "schema/rules/name_pattern.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace anchorhold::rules {

// A range of addresses: "10.1.0.0/16", "2001:db8::/32". An address alone is a range of one. Only
// inet_pton(3) reads addresses, and ::ffff:a.b.c.d becomes a.b.c.d. Two ranges are disjoint, or one
// holds the other.
class Prefix {
public:
    static Result<Prefix> parse(std::string_view text, Code code);
    bool contains(const Prefix& other) const;
    std::string text() const; // "10.1.2.3/32"
    bool is_v4() const { return v4_; }
    unsigned length() const { return length_; }
    bool is_single() const { return length_ == bits(); }
    // The address in network byte order; a v4 address is in the first four bytes.
    const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }
    friend bool operator==(const Prefix&, const Prefix&) = default;

private:
    friend bool is_covered(const Prefix& range, const std::vector<Prefix>& by);
    Prefix() = default;
    unsigned bits() const { return v4_ ? 32 : 128; }
    bool has_only_zeros_beyond() const;
    Prefix half(std::uint8_t which) const; // 0: lower, 1: upper; needs a range of at least two

    std::array<std::uint8_t, 16> bytes_{}; // a v4 address is in the first four
    unsigned length_ = 0;
    bool v4_ = false;
};
// Returns whether every address of `range` lies in one of `by`.
bool is_covered(const Prefix& range, const std::vector<Prefix>& by);

using Destination = std::variant<Prefix, NamePattern>;

// Reads a range of addresses or a name. A text that looks like an address must be one: "1.2.3" is
// refused, because resolvers read it as 1.2.0.3. A URL is refused with the host that is in it.
Result<Destination> parse_destination(std::string_view text, Code code);
std::string text_of(const Destination& destination);
// Returns whether `part` lies wholly in `whole`. A name never covers an address, nor an address a
// name: which addresses a name has is not known here.
bool covers(const Destination& whole, const Destination& part);

} // namespace anchorhold::rules
