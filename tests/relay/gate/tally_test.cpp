// SPDX-License-Identifier: Apache-2.0
#include "relay/gate/tally.hpp"

#include "schema/rules/gate_report.hpp"

#include <doctest/doctest.h>

namespace anchorhold::gate::tally_test {
namespace {

const std::string no_resets =
    R"("resets":{"no_handle":0,"port":0,"address":0,"resolver":0,"destination":0,)"
    R"("unreachable":0,"tls":0,"full":0})";

} // namespace

TEST_CASE("a tally tells what was refused, and is then clean until more is")
{
    Tally tally;
    CHECK(tally.is_dirty());
    CHECK(tally.text() == R"({"denied":[],"others":0,)" + no_resets + R"(,"servfail":0})");
    CHECK_FALSE(tally.is_dirty());
    tally.deny("b.org", 7);
    tally.deny("a.org", 8);
    tally.deny("b.org", 9);
    tally.reset(Refusal::port);
    tally.fail_lookup();
    CHECK(tally.is_dirty());
    CHECK(tally.text() ==
          R"({"denied":[{"name":"a.org","count":1,"last":8},{"name":"b.org","count":2,"last":9}],)"
          R"("others":0,"resets":{"no_handle":0,"port":1,"address":0,"resolver":0,"destination":0,)"
          R"("unreachable":0,"tls":0,"full":0},"servfail":1})");
}

TEST_CASE("of more names than are kept the oldest become a count")
{
    Tally tally;
    for (int i = 0; i < 300; ++i)
        tally.deny(std::to_string(i) + ".org", i);
    const std::string text = tally.text();
    CHECK(text.find(R"("name":"299.org")") != std::string::npos);
    CHECK(text.find(R"("name":"44.org")") != std::string::npos);
    CHECK(text.find(R"("name":"43.org")") == std::string::npos);
    CHECK(text.find(R"("others":44)") != std::string::npos);
}

TEST_CASE("the report that a gate writes is read again, and half a one is refused")
{
    Tally tally;
    tally.deny("b.org", 7);
    tally.deny("b.org", 9);
    tally.reset(Refusal::tls);
    tally.fail_lookup();
    const std::string text = tally.text();
    const auto report = rules::read_gate_report(text);
    REQUIRE(report);
    CHECK(report->denied == std::vector<rules::DeniedName>{{"b.org", 2, 9}});
    CHECK(report->others == 0);
    CHECK(report->servfail == 1);
    REQUIRE(report->resets.size() == static_cast<std::size_t>(Refusal::count));
    CHECK(report->resets[6] == std::pair<std::string, std::int64_t>("tls", 1));
    for (std::size_t size = 0; size < text.size(); ++size)
        CHECK_FALSE(rules::read_gate_report(text.substr(0, size)));
    CHECK_FALSE(rules::read_gate_report("{}"));
    CHECK_FALSE(rules::read_gate_report(R"({"denied":[{}],"resets":{},"others":0,"servfail":0})"));
}

} // namespace anchorhold::gate::tally_test
