// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/denied_set.hpp"

#include <doctest/doctest.h>

namespace anchorhold::denied_set_test {

using namespace rules;

using Destinations = std::vector<Denied>;

TEST_CASE("a destination is recorded once, with the time of its last attempt, oldest first")
{
    Record record;
    add_denied(record, {{{"192.0.2.9", 80, false, 100}, {"192.0.2.8", 80, false, 90}}, false, 2});
    CHECK(record.denied ==
          Destinations{{"192.0.2.8", 80, false, 90}, {"192.0.2.9", 80, false, 100}});
    add_denied(record, {{{"192.0.2.8", 80, false, 200},
                         {"192.0.2.8", 80, true, 95},
                         {"192.0.2.8", 81, false, 150},
                         {"192.0.2.9", 80, false, 50}},
                        false,
                        5});
    CHECK(record.denied == Destinations{{"192.0.2.8", 80, true, 95},
                                        {"192.0.2.9", 80, false, 100},
                                        {"192.0.2.8", 81, false, 150},
                                        {"192.0.2.8", 80, false, 200}});
}

TEST_CASE("what is told again changes nothing, nor does a second more or less")
{
    Record record;
    add_denied(record, {{{"192.0.2.9", 80, false, 100}, {"2001:db8::9", 53, true, 101}}, false, 7});
    const Record once = record;
    for (const std::int64_t later : {0, 1, -1}) {
        add_denied(record,
                   {{{"2001:db8::9", 53, true, 101 + later}, {"192.0.2.9", 80, false, 100 + later}},
                    false,
                    7});
        CHECK(record == once);
    }
    add_denied(record, {{{"192.0.2.9", 80, false, 102}}, false, 7});
    CHECK(record.denied.back() == Denied{"192.0.2.9", 80, false, 102});
}

TEST_CASE("a table that is replaced takes nothing along, and what the next one counts is added")
{
    Record record;
    add_denied(record, {{{"192.0.2.9", 80, false, 100}}, false, 7});
    begin_denied_anew(record);
    add_denied(record, {{}, false, 0});
    CHECK(record.denied == Destinations{{"192.0.2.9", 80, false, 100}});
    CHECK(record.drops == 7);
    add_denied(record, {{{"192.0.2.8", 80, false, 110}}, false, 9});
    add_denied(record, {{{"192.0.2.8", 80, false, 110}}, false, 9});
    CHECK(record.denied.size() == 2);
    CHECK(record.drops == 16);
    add_denied(record, {{}, false, 2}); // another process replaced the table
    CHECK(record.drops == 18);
    add_denied(record, {{}, false, 3});
    CHECK(record.drops == 19);
}

TEST_CASE("a record has room for so many destinations, of which the newest stay")
{
    Record record;
    DeniedSet seen;
    for (std::size_t i = 0; i < most_denied; ++i)
        seen.denied.push_back(
            {"192.0.2.9", static_cast<std::uint16_t>(i), false, static_cast<std::int64_t>(i)});
    add_denied(record, seen);
    CHECK(record.denied == seen.denied);
    CHECK(!record.more_denied);
    add_denied(record, {{{"192.0.2.9", 0, true, 10000}}, false, 0});
    CHECK(record.denied.size() == most_denied);
    CHECK(record.more_denied);
    CHECK(record.denied.front() == Denied{"192.0.2.9", 1, false, 1});
    CHECK(record.denied.back() == Denied{"192.0.2.9", 0, true, 10000});
}

TEST_CASE("that a table was full once is never forgotten")
{
    Record record;
    add_denied(record, {{{"192.0.2.9", 80, false, 100}}, false, 1});
    CHECK(!record.more_denied);
    add_denied(record, {{}, true, 1});
    CHECK(record.more_denied);
    begin_denied_anew(record);
    add_denied(record, {{}, false, 0});
    CHECK(record.more_denied);
}

} // namespace anchorhold::denied_set_test
