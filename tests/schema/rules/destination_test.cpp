// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/destination.hpp"

#include <doctest/doctest.h>

namespace anchorhold::destination_test {

using namespace rules;
namespace {

Destination to(std::string_view text)
{
    auto destination = parse_destination(text, Code::invalid_request);
    REQUIRE_MESSAGE(destination.has_value(), text);
    return *std::move(destination);
}

std::string canonical(std::string_view text)
{
    return text_of(to(text));
}

std::string refusal(std::string_view text)
{
    const auto destination = parse_destination(text, Code::invalid_policy);
    if (destination)
        return "";
    CHECK(destination.error().code == Code::invalid_policy);
    return destination.error().what;
}

Prefix range(std::string_view text)
{
    return std::get<Prefix>(to(text));
}

} // namespace

TEST_CASE("a destination has one spelling")
{
    CHECK(canonical("10.1.2.3") == "10.1.2.3/32");
    CHECK(canonical("10.1.0.0/16") == "10.1.0.0/16");
    CHECK(canonical("0.0.0.0/0") == "0.0.0.0/0");
    CHECK(canonical("2001:DB8:0::1") == "2001:db8::1/128");
    CHECK(canonical("2001:db8::/32") == "2001:db8::/32");
    CHECK(canonical("::/0") == "::/0");
    CHECK(canonical("github.com") == "github.com");
    CHECK(canonical("*.x.org") == "*.x.org");
    CHECK(canonical("**.x.org") == "**.x.org");
    CHECK(canonical("_srv.xn--bcher-kva.example") == "_srv.xn--bcher-kva.example");
}

TEST_CASE("an IPv4 address inside IPv6 is the IPv4 address")
{
    CHECK(canonical("::ffff:10.1.2.3") == "10.1.2.3/32");
    CHECK(canonical("::ffff:10.1.0.0/112") == "10.1.0.0/16");
    CHECK(canonical("::ffff:0:0/96") == "0.0.0.0/0");
    CHECK(canonical("::fffe:0:0/96") == "::fffe:0:0/96");
}

TEST_CASE("B-48: what looks like an address must be one")
{
    for (const std::string_view text :
         {"10.1.2", "10.1.2.3.4", "010.1.2.3", "256.1.1.1", "127.1", "1", "0x7f.1", "host.0x7f",
          "10.1.2.3:80", "fe80::1%eth0", "2001:db8:::1"})
        CHECK(refusal(text) == in_quotes(text) + " is not an address");
    CHECK(refusal(std::string_view("10.1.2.3\0.x", 11)) ==
          "\"10.1.2.3\\x00.x\" is not a host name: lower-case labels of [a-z0-9_-], other scripts "
          "as xn--, no final dot");
    CHECK(refusal(std::string_view("10.1.2.3\0/8", 11)) == "\"10.1.2.3\\x00/8\" is not an address");
    for (const std::string_view text : {"10.0.0.0/", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/+8",
                                        "10.0.0.0/8 ", "10.0.0.0/8/8", "0.0.0.0/-0"})
        CHECK(refusal(text) == in_quotes(text) + " has no prefix length of 0 to 32");
    CHECK(refusal("::/129") == "\"::/129\" has no prefix length of 0 to 128");
    CHECK(refusal("10.1.2.3/16") == "\"10.1.2.3/16\" has bits set beyond its prefix length");
    CHECK(refusal("2001:db8::1/64") == "\"2001:db8::1/64\" has bits set beyond its prefix length");
}

TEST_CASE("one destination covers another only where every address or name is in it")
{
    const auto holds = [](std::string_view whole, std::string_view part) {
        return covers(to(whole), to(part));
    };
    CHECK(holds("10.0.0.0/8", "10.1.0.0/16"));
    CHECK(holds("10.0.0.0/8", "10.0.0.0/8"));
    CHECK(!holds("10.1.0.0/16", "10.0.0.0/8"));
    CHECK(!holds("10.0.0.0/8", "11.0.0.0/16"));
    CHECK(holds("0.0.0.0/0", "203.0.113.9"));
    CHECK(!holds("0.0.0.0/0", "2001:db8::1"));
    CHECK(!holds("::/0", "10.0.0.1"));
    CHECK(holds("2001:db8::/33", "2001:db8:7fff::/48"));
    CHECK(!holds("2001:db8::/33", "2001:db8:8000::/48"));

    CHECK(holds("*.x.org", "a.x.org"));
    CHECK(!holds("*.x.org", "x.org"));
    CHECK(!holds("**.org", "10.0.0.1"));
    CHECK(!holds("0.0.0.0/0", "x.org"));
}

TEST_CASE("a range is covered when its parts are, in whatever pieces")
{
    CHECK(is_covered(range("10.0.0.0/8"), {range("10.0.0.0/8")}));
    CHECK(is_covered(range("10.0.0.0/8"), {range("0.0.0.0/0")}));
    CHECK(is_covered(range("10.0.0.0/8"), {range("10.128.0.0/9"), range("10.0.0.0/9")}));
    CHECK(is_covered(range("10.0.0.0/30"),
                     {range("10.0.0.0"), range("10.0.0.1"), range("10.0.0.2"), range("10.0.0.3")}));
    CHECK(!is_covered(range("10.0.0.0/30"),
                      {range("10.0.0.0"), range("10.0.0.1"), range("10.0.0.3")}));
    CHECK(!is_covered(range("10.0.0.0/8"), {range("10.0.0.0/9")}));
    CHECK(!is_covered(range("10.0.0.0/8"), {}));
    CHECK(is_covered(range("::/0"), {range("8000::/1"), range("::/1")}));
    CHECK(!is_covered(range("::/0"), {range("0.0.0.0/0")}));
}

} // namespace anchorhold::destination_test
