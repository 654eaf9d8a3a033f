// SPDX-License-Identifier: Apache-2.0
#include "relay/failure.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <climits>
#include <string>

namespace anchorhold::relay::failure_test {
namespace {

std::string described(const Failure& failure)
{
    Line line;
    describe(failure, line);
    return line.text();
}

} // namespace

TEST_CASE("a failure reads as what was done, to what, and why not")
{
    CHECK(described({.doing = "listen for", .subject = "80=/a", .number = EADDRINUSE}) ==
          "listen for \"80=/a\": already in use (EADDRINUSE)");
    CHECK(described({.doing = "map memory", .number = 12345}) == "map memory: errno 12345");
    CHECK(described({.doing = "check", .subject = "x", .why = "not a socket"}) ==
          "check \"x\": not a socket");
}

TEST_CASE("no failure uses the phrases engines rewrite")
{
    for (int number = 1; number < 140; ++number) {
        const std::string text = described({.doing = "x", .number = number});
        for (const char* phrase : {"ermission denied", "o such file", "peration not permitted",
                                   "executable file not found"})
            CHECK(text.find(phrase) == std::string::npos);
    }
}

TEST_CASE("text from outside cannot break a line or grow without bound")
{
    CHECK(std::string(Line().add_quoted("a\n\"\\\x7f\xff z").text()) ==
          "\"a\\x0a\\x22\\x5c\\x7f\\xff z\"");
    CHECK(std::string(Line().add_quoted(std::string(201, 'a').c_str()).text()) ==
          "\"" + std::string(200, 'a') + "...\"");
    Line line;
    for (int turn = 0; turn < 100; ++turn)
        line.add_quoted(std::string(200, '\n').c_str());
    CHECK(std::string(line.text()).size() == 1000);
}

TEST_CASE("numbers are written whole")
{
    CHECK(std::string(Line().add_number(0).text()) == "0");
    CHECK(std::string(Line().add_number(-17).text()) == "-17");
    CHECK(std::string(Line().add_number(LONG_MIN).text()) == std::to_string(LONG_MIN));
    CHECK(std::string(Line().add_number(LONG_MAX).text()) == std::to_string(LONG_MAX));
}

TEST_CASE("a number is read only if the whole text is one and fits")
{
    uint64_t number = 7;
    auto reads = [&](const std::string& text, uint64_t most) {
        return parse_number(text.c_str(), text.size(), most, number);
    };
    CHECK(reads("18446744073709551615", UINT64_MAX));
    CHECK(number == UINT64_MAX);
    CHECK_FALSE(reads("18446744073709551616", UINT64_MAX));
    CHECK(reads("65535", 65535));
    CHECK_FALSE(reads("65536", 65535));
    CHECK(reads("0", 9));
    CHECK(number == 0);
    for (const char* text : {"", "00", "1 ", "-1", "a"})
        CHECK_FALSE(reads(text, 65535));
}

} // namespace anchorhold::relay::failure_test
