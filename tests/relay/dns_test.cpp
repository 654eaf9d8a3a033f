// SPDX-License-Identifier: Apache-2.0
#include "relay/dns.hpp"

#include <doctest/doctest.h>

#include <string>

namespace anchorhold::relay::dns_test {
namespace {

using namespace std::string_literals;

// Returns the reply. The query is copied to a buffer of its exact size, so that a sanitizer sees
// every step beyond it.
std::string reply_to(const std::string& query)
{
    const std::string copy(query.data(), query.size());
    uint8_t reply[dns_reply_limit];
    const size_t size =
        refuse_name(reinterpret_cast<const uint8_t*>(copy.data()), copy.size(), reply);
    return {reinterpret_cast<const char*>(reply), size};
}

const std::string counts = "\0\1\0\0\0\0\0\0"s;
const std::string counts_with_more = "\0\1\0\0\0\0\0\1"s;
const std::string question = "\7example\3com\0\0\x1c\0\1"s; // AAAA IN
const std::string opt = "\0\0\x29\x10\0\0\0\x80\0\0\0"s;    // 4096, DO
const std::string our_opt = "\0\0\x29\x04\xd0\0\0\0\0\0\0"s;

} // namespace

TEST_CASE("whatever is asked does not exist, and the question is echoed")
{
    CHECK(reply_to("\x12\x34\x01\0"s + counts + question) ==
          "\x12\x34\x81\x83"s + counts + question);
    CHECK(reply_to("\0\0\0\0"s + counts + "\0\0\2\0\1"s) ==
          "\0\0\x80\x83"s + counts + "\0\0\2\0\1"s);
}

TEST_CASE("RD and CD are copied, RA is set, AA, TC, AD and Z are not")
{
    CHECK(reply_to("ab\x07\xf0"s + counts + question) == "ab\x81\x93"s + counts + question);
}

TEST_CASE("who speaks EDNS gets EDNS back")
{
    CHECK(reply_to("ab\1\0"s + counts_with_more + question + opt) ==
          "ab\x81\x83"s + counts_with_more + question + our_opt);
    const std::string cookie = "\0\0\x29\x04\xd0\0\0\0\0\0\x0c\0\x0a\0\x08"
                               "12345678"s;
    CHECK(reply_to("ab\1\0"s + counts_with_more + question + cookie) ==
          "ab\x81\x83"s + counts_with_more + question + our_opt);
}

TEST_CASE("another additional record is read over")
{
    const std::string signature = "\xc0\x0c\0\xfa\0\xff\0\0\0\0\0\2xy"s;
    CHECK(reply_to("ab\1\0"s + counts_with_more + question + signature) ==
          "ab\x81\x83"s + counts + question);
    CHECK(reply_to("ab\1\0"s + "\0\1\0\0\0\0\0\2"s + question + signature + opt) ==
          "ab\x81\x83"s + counts_with_more + question + our_opt);
}

TEST_CASE("the longest name is answered, one byte more is not")
{
    std::string name;
    for (int label = 0; label < 3; ++label)
        name += "\x3f"s + std::string(63, 'a');
    const std::string longest = name + "\x3d"s + std::string(61, 'b') + "\0"s;
    REQUIRE(longest.size() == 255);
    const std::string whole = "ab\1\0"s + counts_with_more + longest + "\0\1\0\1"s + opt;
    CHECK(reply_to(whole).size() == dns_reply_limit);
    CHECK(reply_to("ab\1\0"s + counts + name + "\x3e"s + std::string(62, 'b') + "\0\0\1\0\1"s)
              .empty());
}

TEST_CASE("what is no query gets no answer, so that no two of us talk for ever")
{
    const std::string query = "ab\1\0"s + counts + question;
    CHECK(reply_to(reply_to(query)).empty());
    CHECK(reply_to(""s).empty());
    for (const size_t at : {5U, 7U, 9U}) { // not exactly one question; answers; authorities
        std::string other = query;
        other[at] = static_cast<char>(other[at] + 1);
        CHECK(reply_to(other).empty());
    }
    CHECK(reply_to("ab\1\0"s + counts + "\xc0\x0c\0\1\0\1"s).empty()); // points at itself
    CHECK(reply_to("ab\1\0"s + counts + "\x40"s + std::string(64, 'a') + "\0\0\1\0\1"s).empty());
    CHECK(reply_to("ab\1\0"s + counts_with_more + question + "\xc0"s).empty());
}

TEST_CASE("a query cut anywhere gets no answer")
{
    const std::string query = "ab\1\0"s + counts_with_more + question + opt;
    REQUIRE_FALSE(reply_to(query).empty());
    for (size_t size = 0; size < query.size(); ++size)
        CHECK(reply_to(query.substr(0, size)).empty());
}

TEST_CASE("an opcode other than QUERY is answered at once too")
{
    CHECK(reply_to("ab\x29\0"s + counts + question) == "ab\xa9\x84\0\0\0\0\0\0\0\0"s);
}

TEST_CASE("what was asked is told in bytes that a rule's name may hold")
{
    const auto asked = [](const std::string& question) {
        const std::string reply = reply_to("ab\1\0"s + counts + question);
        AskedName found = {};
        REQUIRE(
            refused_question(reinterpret_cast<const uint8_t*>(reply.data()), reply.size(), found));
        return std::string(found.name, found.size) + " " +
               std::to_string(static_cast<int>(found.type));
    };
    CHECK(asked("\7eXample\3COM\0\0\x1c\0\1"s) == "example.com 1");
    CHECK(asked("\1a\0\0\1\0\1"s) == "a 0");
    CHECK(asked("\1a\0\0\x41\0\1"s) == "a 2");
    CHECK(asked("\0\0\2\0\1"s) == " 2");
    CHECK(asked("\5a.b\n\xff\4_-09\0\0\1\0\1"s) == "a?b??._-09 0");
    std::string longest;
    for (int label = 0; label < 3; ++label)
        longest += "\x3f"s + std::string(63, 'a');
    longest += "\x3d"s + std::string(61, 'b');
    CHECK(asked(longest + "\0\0\1\0\1"s).size() == rules::longest_listed + 2);
    AskedName none = {};
    CHECK_FALSE(refused_question(nullptr, 0, none));
    const std::string notimp = reply_to("ab\x11\0"s + counts + question);
    REQUIRE(notimp.size() == 12);
    CHECK_FALSE(refused_question(reinterpret_cast<const uint8_t*>(notimp.data()), 12, none));
}

} // namespace anchorhold::relay::dns_test
