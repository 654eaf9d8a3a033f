// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/name_pattern.hpp"

#include <doctest/doctest.h>

namespace anchorhold::name_pattern_test {

using namespace rules;
namespace {

std::string refusal(std::string_view text)
{
    const auto pattern = NamePattern::parse(text, Code::invalid_policy);
    if (pattern)
        return "";
    CHECK(pattern.error().code == Code::invalid_policy);
    return pattern.error().what;
}

bool holds(std::string_view whole, std::string_view part)
{
    const auto one = NamePattern::parse(whole, Code::invalid_request);
    const auto other = NamePattern::parse(part, Code::invalid_request);
    REQUIRE(one);
    REQUIRE(other);
    return one->covers(*other);
}

} // namespace

TEST_CASE("B-48: names are lower-case A-labels with at most one wildcard, in front")
{
    const std::string long_label(64, 'a');
    std::string long_name;
    for (int i = 0; i < 64; ++i)
        long_name += "aaa.";
    long_name += "a";
    for (const std::string& text :
         {std::string(""), std::string("GitHub.com"), std::string("github.com."),
          std::string(".github.com"), std::string("a..b"), std::string("bücher.example"),
          std::string("*"), std::string("**"), std::string("*."), std::string("x.*.org"),
          std::string("*x.org"), std::string("*.*.org"), std::string("a b"), long_label, long_name})
        CHECK(refusal(text) == in_quotes(text) +
                                   " is not a host name: lower-case labels of [a-z0-9_-], other "
                                   "scripts as xn--, no final dot");
}

TEST_CASE("no name ends in a number, however it is asked for")
{
    for (const std::string_view text : {"1.2.3", "x.7", "*.0x7f"})
        CHECK(!NamePattern::parse(text, Code::invalid_request));
}

TEST_CASE("a pattern covers another only where every name is in it")
{
    CHECK(holds("x.org", "x.org"));
    CHECK(!holds("x.org", "a.x.org"));
    CHECK(holds("*.x.org", "a.x.org"));
    CHECK(!holds("*.x.org", "x.org"));
    CHECK(!holds("*.x.org", "b.a.x.org"));
    CHECK(!holds("*.x.org", "ax.org"));
    CHECK(holds("*.x.org", "*.x.org"));
    CHECK(!holds("*.x.org", "**.x.org"));
    CHECK(holds("**.x.org", "a.x.org"));
    CHECK(holds("**.x.org", "b.a.x.org"));
    CHECK(!holds("**.x.org", "x.org"));
    CHECK(!holds("**.x.org", "bax.org"));
    CHECK(holds("**.x.org", "*.x.org"));
    CHECK(holds("**.x.org", "*.a.x.org"));
    CHECK(holds("**.x.org", "**.x.org"));
    CHECK(holds("**.x.org", "**.a.x.org"));
    CHECK(!holds("**.a.x.org", "**.x.org"));
}

} // namespace anchorhold::name_pattern_test
