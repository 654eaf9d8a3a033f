// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/public_suffix.hpp"

#include <doctest/doctest.h>

namespace anchorhold::rules::public_suffix_test {
namespace {

constexpr std::string_view list = R"(// comment of nothing.example
com
co.uk
github.io   // a remark behind a blank
s3.dual.amazonaws.com
*.ck
!www.ck
*.compute.example.net
)";

std::string refusal(std::string_view rules, bool permitted = false)
{
    std::vector<AllowRule> read = *parse_allow(rules);
    for (AllowRule& rule : read)
        rule.public_suffix = permitted;
    const Status checked = check_suffixes(read, list);
    if (checked)
        return "";
    CHECK(checked.error().code == Code::invalid_request);
    return checked.error().what;
}

} // namespace

TEST_CASE("a wildcard at or above a public suffix is refused, below one it is not")
{
    for (const std::string domain :
         {"com", "org", "co.uk", "uk", "github.io", "io", "amazonaws.com", "dual.amazonaws.com",
          "s3.dual.amazonaws.com", "ck", "any.ck", "example.net", "compute.example.net",
          "eu.compute.example.net"}) {
        CHECK_MESSAGE(is_at_suffix(list, domain), domain);
        CHECK(!refusal("*." + domain).empty());
        CHECK(!refusal("**." + domain).empty());
        CHECK(refusal(domain).empty()); // no wildcard
        CHECK(refusal("*." + domain, true).empty());
    }
    for (const std::string domain :
         {"x.com", "x.co.uk", "me.github.io", "a.b.org", "www.ck", "x.any.ck", "mycom.org",
          "hub.io", "nothing.example", "b.s3.dual.amazonaws.com", "x.eu.compute.example.net"}) {
        CHECK_MESSAGE(!is_at_suffix(list, domain), domain);
        CHECK(refusal("**." + domain).empty());
    }
    CHECK(refusal("x.org, *.github.io") ==
          "allow *.github.io: at github.io or right below it names belong to anybody (public "
          "suffix); list the names, or say \"public_suffix\": true in the policy's rule");
}

TEST_CASE("without a list only single labels are public suffixes")
{
    CHECK(is_at_suffix("", "com"));
    CHECK(!is_at_suffix("", "co.uk"));
}

TEST_CASE("the list is needed for wildcards alone")
{
    CHECK(!needs_suffixes(*parse_allow("x.org, 10.0.0.0/8")));
    CHECK(needs_suffixes(*parse_allow("x.org, *.y.org")));
}

} // namespace anchorhold::rules::public_suffix_test
