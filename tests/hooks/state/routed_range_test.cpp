// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/routed_range.hpp"

#include <doctest/doctest.h>

namespace anchorhold::routed_range_test {

using namespace rules;
using namespace state;
namespace {

RoutedRange routed(std::string_view text, unsigned link = 2)
{
    const auto prefix = Prefix::parse(text, Code::invalid_policy);
    REQUIRE(prefix);
    RoutedRange range = RoutedRange::of(*prefix);
    range.link = link;
    return range;
}

Subnet subnet(std::string_view text)
{
    const auto parsed = Subnet::parse(text, Code::network_setup_failed);
    REQUIRE(parsed);
    return *parsed;
}

} // namespace

TEST_CASE("a range overlaps a subnet when it holds one of its four addresses")
{
    const Subnet four = subnet("10.0.0.4/30");
    for (const char* text : {"10.0.0.4/32", "10.0.0.7/32", "10.0.0.6/31", "10.0.0.4/30",
                             "10.0.0.0/29", "10.0.0.0/8", "0.0.0.0/0"})
        CHECK_MESSAGE(overlap(routed(text), four), text);
    for (const char* text : {"10.0.0.3/32", "10.0.0.8/32", "10.0.0.0/30", "10.0.0.8/29"})
        CHECK_MESSAGE(!overlap(routed(text), four), text);
    CHECK(overlap(routed("255.255.255.255/32"), subnet("255.255.255.252/30")));
    CHECK(!overlap(routed("255.255.255.255/32"), subnet("0.0.0.0/30")));
}

TEST_CASE("of ranges in one another the outermost is told")
{
    const RoutedList list({routed("10.1.0.0/16"), routed("10.0.0.0/8"), routed("10.1.2.0/24", 7),
                           routed("192.0.2.0/24")});
    CHECK(list.ranges() == std::vector{routed("10.0.0.0/8"), routed("192.0.2.0/24")});
    CHECK(list.touching(subnet("10.1.2.0/30")) == routed("10.0.0.0/8"));
    CHECK(!list.touching(subnet("9.255.255.252/30")));
    CHECK(!list.touching(subnet("11.0.0.0/30")));
}

} // namespace anchorhold::routed_range_test
