// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/routed_range.hpp"

#include <algorithm>

namespace anchorhold::state {
namespace {

std::uint32_t mask_of(unsigned length)
{
    return length == 0 ? 0 : ~std::uint32_t{0} << (32 - length);
}

} // namespace

RoutedRange RoutedRange::of(const rules::Prefix& prefix)
{
    std::uint32_t base = 0;
    for (std::size_t i = 0; i < 4; ++i)
        base = (base << 8) | prefix.bytes()[i];
    return {base, prefix.length(), 0};
}

std::uint32_t RoutedRange::last() const
{
    return base | ~mask_of(length);
}

std::string RoutedRange::text() const
{
    return rules::dotted(base) + "/" + std::to_string(length);
}

bool overlap(const RoutedRange& range, const rules::Subnet& subnet)
{
    const std::uint32_t last = subnet.base + 3; // a /30 has four addresses
    return range.base <= last && subnet.base <= range.last();
}

RoutedList::RoutedList(std::vector<RoutedRange> ranges)
{
    std::ranges::sort(ranges, [](const RoutedRange& one, const RoutedRange& other) {
        return one.base != other.base ? one.base < other.base : one.length < other.length;
    });
    for (const RoutedRange& range : ranges) {
        if (ranges_.empty() || range.base > ranges_.back().last())
            ranges_.push_back(range);
    }
}

std::optional<RoutedRange> RoutedList::touching(const rules::Subnet& subnet) const
{
    // The ranges are disjoint. The first one that does not end before the subnet decides.
    const auto found = std::ranges::lower_bound(ranges_, subnet.base, {}, &RoutedRange::last);
    return found != ranges_.end() && overlap(*found, subnet) ? std::optional(*found) : std::nullopt;
}

} // namespace anchorhold::state
