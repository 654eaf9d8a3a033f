// SPDX-License-Identifier: Apache-2.0
#include "schema/error.hpp"

#include <cerrno>
#include <doctest/doctest.h>

namespace anchorhold::error_test {
namespace {

Result<int> half_of(int number)
{
    if (number % 2 != 0)
        return fail(Code::invalid_request, "odd");
    return number / 2;
}

Result<int> quarter_of(int number)
{
    AH_TRY(const int half, half_of(number), "halve " + std::to_string(number));
    AH_TRY(const int quarter, half_of(half), "halve again");
    return quarter;
}

Status check_quarter(int number)
{
    AH_CHECK(quarter_of(number), "check");
    return {};
}

} // namespace

TEST_CASE("an error's sentence grows from the left and keeps its code")
{
    CHECK(quarter_of(8) == 2);
    const auto failed = quarter_of(6);
    REQUIRE_FALSE(failed.has_value());
    CHECK(failed.error().what == "halve again: odd");
    CHECK(failed.error().code == Code::invalid_request);
    CHECK(check_quarter(8).has_value());
    CHECK(check_quarter(3).error().what == "check: halve 3: odd");
}

TEST_CASE("every code has the word that the manual lists")
{
    CHECK(name_of(Code::network_setup_failed) == "network_setup_failed");
    CHECK(name_of(Code::invalid_request) == "invalid_request");
    CHECK(name_of(Code::invalid_policy) == "invalid_policy");
    CHECK(name_of(Code::config_ambiguous) == "config_ambiguous");
    CHECK(name_of(Code::policy_ceiling) == "policy_ceiling");
    CHECK(name_of(Code::endpoint_unavailable) == "endpoint_unavailable");
    CHECK(name_of(Code::posture_unavailable) == "posture_unavailable");
    CHECK(name_of(Code::bundle_voids_posture) == "bundle_voids_posture");
    CHECK(name_of(Code::delegate_failed) == "delegate_failed");
}

TEST_CASE("a system error names the number and speaks in small letters")
{
    const Error error = system_error("open /run/x", EROFS, Code::invalid_request);
    CHECK(error.what == "open /run/x: read-only file system (EROFS)");
    CHECK(error.number == EROFS);
    CHECK(error.code == Code::invalid_request);
    CHECK(system_error("x", EACCES).what == "x: file permissions forbid it (EACCES)");
    CHECK(system_error("x", EPERM).what == "x: the kernel refuses it (EPERM)");
    CHECK(system_error("x", ENOENT).what == "x: it is not there (ENOENT)");
    CHECK(system_error("x", 9999).what == "x: unknown error (errno 9999)");
}

TEST_CASE("R8 no errno brings a phrase that podman replaces the whole message for")
{
    for (int number = 0; number < 200; ++number) {
        std::string text = system_error("open /x", number).what;
        for (char& c : text)
            c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
        for (const char* phrase : {"permission denied", "no such file", "operation not permitted",
                                   "executable file not found"})
            CHECK_MESSAGE(text.find(phrase) == std::string::npos, text);
    }
}

TEST_CASE("text from outside prints on one line and cannot steer a terminal (B-60)")
{
    CHECK(printable("plain, caf\u00e9 \u4e16 \"x\" \\") == "plain, caf\u00e9 \u4e16 \"x\" \\");
    CHECK(printable("a\n\t\x1b[2J\x7f") == "a\\x0a\\x09\\x1b[2J\\x7f");
    CHECK(printable(std::string_view("a\0b", 3)) == "a\\x00b");
    CHECK(printable("\u0085|\u202e|\u2066|\u2028|\u200f") ==
          "\\xc2\\x85|\\xe2\\x80\\xae|\\xe2\\x81\\xa6|\\xe2\\x80\\xa8|\\xe2\\x80\\x8f");
    CHECK(printable("\xff|\xc0\xaf|\xed\xa0\x80|\xe4\xb8|\xf4\x90\x80\x80") ==
          "\\xff|\\xc0\\xaf|\\xed\\xa0\\x80|\\xe4\\xb8|\\xf4\\x90\\x80\\x80");
}

TEST_CASE("what another program printed is told on one line")
{
    CHECK(one_line("Cannot connect.\n\nIs it running?\n") == "Cannot connect.; Is it running?");
    CHECK(one_line("\n") == "");
    CHECK(one_line("a\x1b[2J") == "a\\x1b[2J");
    CHECK(one_line(std::string(700, 'x')) == std::string(600, 'x') + "...");
}

TEST_CASE("printing what was printed changes nothing")
{
    const std::string once = printable("a\n\xff\"\\ \u202e");
    CHECK(printable(once) == once);
}

TEST_CASE("long text is cut, and never inside a character")
{
    CHECK(printable("abcdef", 6) == "abcdef");
    CHECK(printable("abcdefg", 6) == "abcdef...");
    CHECK(printable("abcd\u4e16", 6) == "abcd...");
    CHECK(printable("abcd\u4e16", 7) == "abcd\u4e16");
    CHECK(in_quotes("abcdefg", 3) == "\"abc...\"");
}

TEST_CASE("quoted text cannot end its own quotes")
{
    CHECK(in_quotes("a\"b\\c\n") == "\"a\\x22b\\x5cc\\x0a\"");
    CHECK(in_quotes("") == "\"\"");
}

} // namespace anchorhold::error_test
