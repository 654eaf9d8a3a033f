// SPDX-License-Identifier: Apache-2.0
// Where packets may go: a range of addresses, or host names. Canonical, so that equal means same.
#pragma once

#include "schema/error.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace anchorhold::rules {

// "10.1.0.0/16", "2001:db8::/32"; an address alone is a range of one. Addresses are read by
// inet_pton(3) alone, and ::ffff:a.b.c.d is a.b.c.d. Two of them are disjoint or one holds the
// other, never anything between.
class Prefix {
public:
    static Result<Prefix> parse(std::string_view text, Code code);
    bool contains(const Prefix& other) const;
    std::string text() const; // "10.1.2.3/32"
    bool is_v4() const { return v4_; }
    unsigned length() const { return length_; }
    bool is_single() const { return length_ == bits(); }
    // In network byte order; of a v4 address the first four.
    const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }
    friend bool operator==(const Prefix&, const Prefix&) = default;

private:
    friend bool is_covered(const Prefix& range, const std::vector<Prefix>& by);
    Prefix() = default;
    unsigned bits() const { return v4_ ? 32 : 128; }
    bool has_only_zeros_beyond() const;
    Prefix half(std::uint8_t which) const; // 0: lower, 1: upper; of a range of at least two

    std::array<std::uint8_t, 16> bytes_{}; // a v4 address in the first four
    unsigned length_ = 0;
    bool v4_ = false;
};
// Does every address of `range` lie in one of `by`?
bool is_covered(const Prefix& range, const std::vector<Prefix>& by);

// "github.com"; "*.x.org" is exactly one label below x.org, "**.x.org" one or more.
class NamePattern {
public:
    static Result<NamePattern> parse(std::string_view text, Code code);
    bool is_exact() const { return depth_ == Depth::exact; }
    bool covers(const NamePattern& other) const;
    std::string text() const;
    friend bool operator==(const NamePattern&, const NamePattern&) = default;

private:
    enum class Depth : std::uint8_t { exact, one, any };
    NamePattern(Depth depth, std::string_view name) : depth_(depth), name_(name) {}
    Depth depth_;
    std::string name_; // what stands after the wildcard
};

using Destination = std::variant<Prefix, NamePattern>;

// What looks like an address must be one: "1.2.3" is no name (resolvers read it as 1.2.0.3).
Result<Destination> parse_destination(std::string_view text, Code code);
std::string text_of(const Destination& destination);
// A name never covers an address, nor the reverse: what it resolves to is not known here.
bool covers(const Destination& whole, const Destination& part);

} // namespace anchorhold::rules
