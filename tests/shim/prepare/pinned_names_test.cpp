// SPDX-License-Identifier: Apache-2.0
#include "shim/prepare/pinned_names.hpp"

#include <doctest/doctest.h>

namespace anchorhold::pinned_names_test {

using namespace prepare;
using namespace rules;
using namespace runtime;
namespace {

std::string refusal(const std::string& answer)
{
    const auto pinned = parse_pinned(answer, {"a.org", "b.org"});
    if (pinned)
        return "";
    CHECK(pinned.error().code == Code::network_setup_failed);
    return pinned.error().what;
}

std::vector<AllowRule> rules(std::string_view text)
{
    const auto rules = parse_allow(text);
    REQUIRE(rules.has_value());
    return *rules;
}

} // namespace

TEST_CASE("every exact name of a list is asked for, once and in order")
{
    CHECK(names_to_pin(rules("pypi.org, 10.1.0.0/16, github.com:22, *.x.org, **.y.org, pypi.org:80,"
                             " 2001:db8::1")) ==
          std::vector<std::string>{"pypi.org", "github.com"});
    CHECK(names_to_pin(rules("10.1.0.0/16")).empty());
}

TEST_CASE("where there is no name, no process is started")
{
    Helpers helpers;
    helpers.hook = "/nonexistent/hook";
    const auto none = pin_names(helpers, rules("10.1.0.0/16, *.x.org"));
    REQUIRE(none.has_value());
    CHECK(none->empty());
    const auto one = pin_names(helpers, rules("x.org"));
    REQUIRE_FALSE(one.has_value());
    CHECK(one.error().what.starts_with("resolve names: run \"/nonexistent/hook\": "));
}

TEST_CASE("an answer is read in the order of asking")
{
    const auto pinned = parse_pinned("{\"b.org\":[],\"a.org\":[\"192.0.2.1\",\"2001:db8::1\"]}\n",
                                     {"a.org", "b.org"});
    REQUIRE(pinned.has_value());
    CHECK(*pinned ==
          std::vector<PinnedName>{{"a.org", {"192.0.2.1", "2001:db8::1"}}, {"b.org", {}}});
}

TEST_CASE("an answer that is anything else is refused")
{
    CHECK(refusal("") != "");
    CHECK(refusal("{") != "");
    CHECK(refusal(R"([])") == "the document: expected an object");
    CHECK(refusal(R"({"a.org":[]})") == "the document: is about other names");
    CHECK(refusal(R"({"a.org":[],"b.org":[],"c.org":[]})") == "the document: is about other names");
    CHECK(refusal(R"({"a.org":[],"c.org":[]})") == "the document: says nothing of \"b.org\"");
    CHECK(refusal(R"({"a.org":[],"a.org":[]})") != "");
    CHECK(refusal(R"({"a.org":[],"b.org":null})") == R"(["b.org"]: expected an array)");
    CHECK(refusal(R"({"a.org":[],"b.org":[1]})") == R"(["b.org"][0]: expected a string)");
    CHECK(refusal("{\"a.org\":[],\"b.org\":[]}\nanchorhold: hook: no") != "");
    for (const char* address : {"", "1.2.3", "192.0.2.0/24", "192.0.2.1/32", "::ffff:192.0.2.1",
                                "2001:DB8::1", "fe80::1%eth0", "192.0.2.1 x", "x.org"})
        CHECK(refusal(std::string(R"({"a.org":[],"b.org":[")") + address + "\"]}") ==
              "[\"b.org\"][0]: \"" + std::string(address) + "\" is no address as we write it");
}

} // namespace anchorhold::pinned_names_test
