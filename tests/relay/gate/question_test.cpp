// SPDX-License-Identifier: Apache-2.0
#include "relay/gate/question.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace anchorhold::gate::question_test {
namespace {

using namespace std::string_literals;

const std::string one = "\0\1\0\0\0\0\0\0"s; // counts
const std::string one_with_opt = "\0\1\0\0\0\0\0\1"s;
const std::string opt = "\0\0\x29\x10\0\0\0\x80\0\0\0"s;
const std::string our_opt = "\0\0\x29\x04\xd0\0\0\0\0\0\0"s;
const std::string a_in = "\0\1\0\1"s;

Asked asked(const std::string& name, const std::string& type = a_in)
{
    const std::string query = "ab\1\0"s + one + name + type;
    const std::vector<std::uint8_t> copy(query.begin(), query.end());
    return read_asked(copy);
}

std::string name_of(const std::string& name)
{
    const Asked read = asked(name);
    CHECK(read.kind == relay::Query::question);
    return read.name ? read.name->text() : "none";
}

std::string reply_to(const std::string& query, Outcome outcome, std::uint32_t handle = 0)
{
    const std::vector<std::uint8_t> copy(query.begin(), query.end());
    const Asked read = read_asked(copy);
    REQUIRE(read.kind == relay::Query::question);
    Reply reply;
    const std::size_t size = write_reply(copy, read.question, outcome, handle, reply);
    return {reinterpret_cast<const char*>(reply.data()), size};
}

} // namespace

TEST_CASE("the name of a question is read in small letters, without its final dot")
{
    CHECK(name_of("\6GitHub\3cOm\0"s) == "github.com");
    CHECK(name_of("\3_a-\1b\0"s) == "_a-.b");
    CHECK(name_of("\x0dxn--bcher-kva\2ch\0"s) == "xn--bcher-kva.ch");
}

TEST_CASE("a name that is no host name is none")
{
    CHECK(name_of("\0"s) == "none");
    CHECK(name_of("\7a.b.org\0"s) == "none");
    CHECK(name_of("\5a.org\0"s) == "none");
    CHECK(name_of("\3a\0b\3org\0"s) == "none");
    CHECK(name_of("\1*\1a\3org\0"s) == "none");
    CHECK(name_of("\2**\1a\3org\0"s) == "none");
    CHECK(name_of("\3\xc3\xbcx\3org\0"s) == "none");
    CHECK(name_of("\1 \3org\0"s) == "none");
    CHECK(name_of("\1"
                  "1\1"
                  "1\1"
                  "1\1"
                  "1\0"s) == "none");
}

TEST_CASE("only A of class IN wants an address")
{
    const std::string name = "\1a\3org\0"s;
    CHECK(asked(name).wants_address);
    for (const std::string& type : {"\0\x1c\0\1"s, "\0\x10\0\1"s, "\0\x41\0\1"s, "\0\x40\0\1"s,
                                    "\0\xff\0\1"s, "\0\1\0\3"s, "\0\1\0\xff"s, "\1\1\0\1"s})
        CHECK_FALSE(asked(name, type).wants_address);
}

TEST_CASE("every outcome has its bytes, and the question is echoed as it was asked")
{
    const std::string question = "\1A\3oRg\0"s + a_in;
    const std::string query = "ab\1\x10"s + one + question;
    CHECK(reply_to(query, Outcome::handle, 0xc6130102) ==
          "ab\x81\x90\0\1\0\1\0\0\0\0"s + question + "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc6\x13\1\2"s);
    CHECK(reply_to(query, Outcome::no_data) == "ab\x81\x90"s + one + question);
    CHECK(reply_to(query, Outcome::no_such_name) == "ab\x81\x93"s + one + question);
    CHECK(reply_to(query, Outcome::refused) == "ab\x81\x93"s + one + question);
    CHECK(reply_to(query, Outcome::failed) == "ab\x81\x92"s + one + question);
}

TEST_CASE("who speaks EDNS gets EDNS back, and is told that a name is blocked")
{
    const std::string question = "\1a\3org\0"s + a_in;
    const std::string query = "ab\1\0"s + one_with_opt + question + opt;
    CHECK(reply_to(query, Outcome::refused) ==
          "ab\x81\x83"s + one_with_opt + question + our_opt.substr(0, 10) + "\6\0\x0f\0\2\0\x0f"s);
    CHECK(reply_to(query, Outcome::no_such_name) ==
          "ab\x81\x83"s + one_with_opt + question + our_opt);
    CHECK(reply_to(query, Outcome::handle, 1) == "ab\x81\x80\0\1\0\1\0\0\0\1"s + question +
                                                     "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\0\0\0\1"s +
                                                     our_opt);
}

TEST_CASE("the longest question has room for its reply")
{
    std::string name;
    for (int label = 0; label < 3; ++label)
        name += "\x3f"s + std::string(63, 'a');
    name += "\x3d"s + std::string(61, 'b') + "\0"s;
    const std::string query = "ab\1\0"s + one_with_opt + name + a_in + opt;
    CHECK(reply_to(query, Outcome::handle, 1).size() == reply_limit - 6);
    CHECK(reply_to(query, Outcome::refused).size() == reply_limit - 16);
}

TEST_CASE("what gets no reply of the relay's gets none here")
{
    const std::string bytes = "ab\x81\0"s + one + "\1a\3org\0"s + a_in;
    const std::vector<std::uint8_t> answer(bytes.begin(), bytes.end());
    CHECK(read_asked(answer).kind == relay::Query::unanswered);
    CHECK(read_asked({}).kind == relay::Query::unanswered);
    CHECK(asked("\xc0\x0c"s).kind == relay::Query::unanswered);
}

} // namespace anchorhold::gate::question_test
