// SPDX-License-Identifier: Apache-2.0
#include "relay/gate/handles.hpp"

#include "relay/gate/pace.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

namespace anchorhold::gate::handles_test {
namespace {

rules::Prefix range(const std::string& text)
{
    return *rules::Prefix::parse(text, Code::invalid_request);
}

constexpr std::uint32_t base = 0xc6130000;

} // namespace

TEST_CASE("exact names have the first handles in their order, in every start of the gate")
{
    for (const std::uint32_t epoch : {0U, 1U, 3U}) {
        Handles handles(range("198.19.0.0/16"), epoch, {"a.org", "b.org"});
        CHECK(handles.take("b.org") == base + 257);
        CHECK(handles.take("a.org") == base + 256);
        REQUIRE(handles.name_of(base + 257) != nullptr);
        CHECK(*handles.name_of(base + 257) == "b.org");
        CHECK(handles.take("x.a.org") == base + 258 + epoch * 4096);
        CHECK(*handles.name_of(base + 258 + epoch * 4096) == "x.a.org");
    }
}

TEST_CASE("what is no handle has no name")
{
    Handles handles(range("198.19.0.0/16"), 0, {"a.org"});
    for (const std::uint32_t number : {0U, 1U, 2U, 255U, 257U, 65535U, 65536U + 256U})
        CHECK(handles.name_of(base + number) == nullptr);
    CHECK(handles.name_of(256) == nullptr);
    CHECK(handles.holds(base));
    CHECK(handles.holds(base + 65535));
    CHECK_FALSE(handles.holds(base - 1));
    CHECK_FALSE(handles.holds(base + 65536));
    CHECK(handles.address(2) == base + 2);
}

TEST_CASE("handles are bounded, each is given once, and a later start gives others")
{
    std::set<std::uint32_t> given;
    for (std::uint32_t epoch = 0; epoch < 4; ++epoch) {
        Handles handles(range("10.0.0.0/16"), epoch, {"a.org"});
        for (std::uint32_t i = 0; i < most_handles - 1; ++i) {
            const auto handle = handles.take(std::to_string(i) + ".org");
            REQUIRE(handle);
            CHECK(given.insert(*handle).second);
            CHECK(handles.holds(*handle));
        }
        CHECK(handles.take("one-more.org") == std::nullopt);
        CHECK_FALSE(handles.has("one-more.org"));
        CHECK(handles.take("7.org")); // has one
    }
    CHECK(given.size() == 4 * (most_handles - 1));
}

TEST_CASE("a pace gives its burst at once, and then so many a second")
{
    Pace pace(3, 50);
    for (int i = 0; i < 3; ++i)
        CHECK(pace.take(1000));
    CHECK_FALSE(pace.take(1000));
    CHECK(pace.due(1000) == 1020);
    CHECK_FALSE(pace.take(1019));
    CHECK(pace.take(1020));
    CHECK(pace.due(1020) == 1040);
    CHECK_FALSE(pace.take(900)); // a clock that went back gives nothing
    int taken = 0;
    for (std::int64_t now = 10'000; now < 11'000; ++now)
        taken += pace.take(now) ? 1 : 0;
    CHECK(taken == 3 + 49);
    CHECK(pace.due(1'000'000) == 1'000'000);
}

} // namespace anchorhold::gate::handles_test
