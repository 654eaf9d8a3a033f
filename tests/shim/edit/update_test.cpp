// SPDX-License-Identifier: Apache-2.0
#include "shim/edit/update.hpp"

#include <doctest/doctest.h>

namespace anchorhold::update_test {
namespace {

using Words = std::vector<std::string>;

std::string edited(std::string_view text, std::int64_t extra = 1)
{
    const auto resources = edit::parse_resources(text);
    if (!resources)
        return resources.error().what;
    const auto result = edit::edit_resources(*resources, extra);
    return result ? *result : result.error().what;
}

Words limited(words::Flavour flavour, const Words& rest, std::int64_t extra = 1)
{
    return edit::edit_limits(rest, words::read_invocation(rest, flavour), extra);
}

} // namespace

TEST_CASE("a resources file gets the relay's place, and keeps the rest byte for byte")
{
    CHECK(edited(R"({"pids": {"limit": 5}, "memory":{"limit":1}})") ==
          R"({"pids": {"limit": 6}, "memory":{"limit":1}})");
    CHECK(edited(R"({"unified":{"pids.max":"7","memory.max":"7"}})") ==
          R"({"unified":{"pids.max":"8","memory.max":"7"}})");
    for (const std::string_view same :
         {R"({})", R"({"pids":{}})", R"({"pids":null})", R"({"pids":{"limit":0}})",
          R"({"pids":{"limit":-1}})", R"({"pids":{"limit":9223372036854775807}})",
          R"({"unified":{"pids.max":"max"}})", R"({"unified":null})", " {\"x\" : [1.50] }\n"})
        CHECK(edited(same) == same);
    CHECK(edited(R"({"pids": {"limit": 5}})", 0) == R"({"pids": {"limit": 5}})");
}

TEST_CASE("a resources file that can be read in two ways is refused")
{
    for (const std::string_view text :
         {R"({"Pids":{"limit":5}})", R"({"pids":{"Limit":5}})", R"({"pids":{},"pids":{}})",
          R"({},"x":{})", R"({}},"y":{"z":{})", R"({} {})", R"([])", R"()"}) {
        const auto resources = edit::parse_resources(text);
        REQUIRE_MESSAGE(!resources, text);
        CHECK(resources.error().code == Code::invalid_request);
    }
    CHECK(edited(R"({"pids":{"limit":"5"}})") == "linux.resources.pids.limit: expected an integer");
}

TEST_CASE("a limit by option is raised in either spelling, a limit that is none stays")
{
    for (const auto flavour : {words::Flavour::runc, words::Flavour::crun}) {
        CHECK(limited(flavour, {"update", "--pids-limit", "5", "id"}) ==
              Words{"update", "--pids-limit", "6", "id"});
        CHECK(limited(flavour, {"update", "--pids-limit=5", "--memory", "5", "id"}) ==
              Words{"update", "--pids-limit=6", "--memory", "5", "id"});
        CHECK(limited(flavour, {"update", "--pids-limit=5", "--pids-limit=7", "id"}) ==
              Words{"update", "--pids-limit=6", "--pids-limit=8", "id"});
        for (const std::string same : {"0", "-1", "010", "0x10", "+5", "5 ", "max",
                                       "9223372036854775807", "9223372036854775808"})
            CHECK(limited(flavour, {"update", "--pids-limit=" + same, "id"}) ==
                  Words{"update", "--pids-limit=" + same, "id"});
        CHECK(limited(flavour, {"update", "--pids-limit=5", "id"}, 0) ==
              Words{"update", "--pids-limit=5", "id"});
    }
    CHECK(limited(words::Flavour::runc, {"update", "-r", "-", "--pids-limit", "5", "id"}) ==
          Words{"update", "-r", "-", "--pids-limit", "6", "id"});
    CHECK(
        limited(words::Flavour::runc, {"update", "--pids-limit", "-1", "--pids-limit", "5", "x"}) ==
        Words{"update", "--pids-limit", "-1", "--pids-limit", "6", "x"});
    CHECK(limited(words::Flavour::runc, {"update", "id", "-pids-limit", "5"}) ==
          Words{"update", "id", "-pids-limit", "6"});
}

} // namespace anchorhold::update_test
