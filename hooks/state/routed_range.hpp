// SPDX-License-Identifier: Apache-2.0
// The ranges that the host routes, and whether one of them overlaps a subnet of the pool. Pure.
#pragma once

#include "schema/rules/network.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace anchorhold::state {

// A range of IPv4 addresses that one of the host's routes already takes: "10.0.0.0/8".
struct RoutedRange {
    std::uint32_t base = 0; // host byte order; the bits behind `length` are 0
    unsigned length = 32;   // of the prefix, 0 to 32
    unsigned link = 0;      // the route's link index; 0: it has several links, or none
    static RoutedRange of(const rules::Prefix& prefix); // `prefix` is an IPv4 one
    std::uint32_t last() const;                         // the range's last address
    std::string text() const;                           // "10.0.0.0/8"
    friend bool operator==(const RoutedRange&, const RoutedRange&) = default;
};

// Returns whether the range and the subnet have an address in common.
bool overlap(const RoutedRange& range, const rules::Subnet& subnet);

// A list of ranges in which one can look a subnet up. Leaves out a range that lies within another.
class RoutedList {
public:
    RoutedList() = default;
    explicit RoutedList(std::vector<RoutedRange> ranges);
    std::optional<RoutedRange> touching(const rules::Subnet& subnet) const;
    const std::vector<RoutedRange>& ranges() const noexcept { return ranges_; }

private:
    std::vector<RoutedRange> ranges_; // disjoint, ascending
};

} // namespace anchorhold::state
