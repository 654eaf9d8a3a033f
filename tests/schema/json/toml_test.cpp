// SPDX-License-Identifier: Apache-2.0
#include "schema/json/toml.hpp"

#include "schema/json/json.hpp"

#include <doctest/doctest.h>

namespace anchorhold::toml_test {

using namespace json;

TEST_CASE("TOML becomes JSON of the same tables, lists and scalars")
{
    const auto text = toml_as_json("version = 2\n"
                                   "[plugins.\"a.b\".runtimes.x] # dotted\n"
                                   "  on = true\n"
                                   "  list = [\"1\", 'two']\n"
                                   "  when = 1979-05-27\n"
                                   "[[many]]\n"
                                   "text = \"\"\"\nline\"\"\"\n");
    REQUIRE(text);
    CHECK(*text ==
          R"({"many":[{"text":"line"}],"plugins":{"a.b":{"runtimes":{"x":{"list":["1","two"],)"
          R"("on":true,"when":null}}}},"version":2})");
    CHECK(toml_as_json("") == std::string("{}"));
}

TEST_CASE("what is no TOML is told with its line")
{
    for (const char* const text : {"a = 1\nb = [", "a = 1\na = 2\n", "a = 1\n[a]\nb = 1\n", "a"}) {
        const auto read = toml_as_json(text);
        REQUIRE(!read);
        CHECK(read.error().code == Code::invalid_request);
        CHECK(read.error().what.starts_with("line "));
    }
    CHECK(toml_as_json("a = 1\nb = ?\n").error().what.starts_with("line 2: "));
}

TEST_CASE("nesting has an end")
{
    CHECK(!toml_as_json("a = " + std::string(10000, '[')));
}

} // namespace anchorhold::toml_test
