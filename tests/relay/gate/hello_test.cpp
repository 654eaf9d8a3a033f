// SPDX-License-Identifier: Apache-2.0
#include "relay/gate/hello.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace anchorhold::gate::hello_test {
namespace {

using namespace std::string_literals;
using Kind = Hello::Kind;

std::string number(std::size_t value, std::size_t width)
{
    std::string text;
    for (; width > 0; --width)
        text += static_cast<char>(value >> (8 * (width - 1)));
    return text;
}

std::string field(const std::string& data, std::size_t width)
{
    return number(data.size(), width) + data;
}

std::string extension(std::size_t type, const std::string& data)
{
    return number(type, 2) + field(data, 2);
}

std::string server_name(const std::string& name)
{
    return extension(0, field("\0"s + field(name, 2), 2));
}

std::string body(const std::string& extensions)
{
    return "\3\3"s + std::string(32, 'r') + field(std::string(32, 's'), 1) + field("\x13\1"s, 2) +
           field("\0"s, 1) + field(extensions, 2);
}

std::string message(const std::string& content)
{
    return "\1"s + field(content, 3);
}

std::string record(const std::string& content)
{
    return "\x16\3\1"s + field(content, 2);
}

std::string hello(const std::string& extensions)
{
    return record(message(body(extensions)));
}

// The bytes are copied to a buffer of their exact size, so that a sanitizer sees every step beyond.
Hello read(const std::string& bytes)
{
    const std::vector<std::uint8_t> copy(bytes.begin(), bytes.end());
    return read_hello(copy);
}

Kind kind(const std::string& bytes)
{
    return read(bytes).kind;
}

const std::string other_extensions = extension(23, "") + extension(43, "\2\3\4"s);

} // namespace

TEST_CASE("the server name of a ClientHello is found between other extensions")
{
    const Hello found = read(hello(other_extensions + server_name("a.ORG") + other_extensions));
    CHECK(found.kind == Kind::hello);
    CHECK(found.server_name == "a.ORG");
    CHECK_FALSE(found.has_ech);
}

TEST_CASE("a ClientHello without a server name, and one without extensions, has none")
{
    CHECK(kind(hello(other_extensions)) == Kind::hello);
    CHECK(read(hello(other_extensions)).server_name.empty());
    const std::string old = body("").substr(0, body("").size() - 2);
    CHECK(kind(record(message(old))) == Kind::hello);
}

TEST_CASE("an Encrypted Client Hello is seen, in every draft's number")
{
    for (const std::size_t type : {0xfe0dU, 0xfe08U, 0xfe0aU, 0xffceU})
        CHECK(read(hello(server_name("a.org") + extension(type, "x"))).has_ech);
    CHECK_FALSE(read(hello(server_name("a.org") + extension(0xfe0e, "x"))).has_ech);
}

TEST_CASE("a ClientHello is read however it is cut into records")
{
    const std::string whole = message(body(server_name("a.org")));
    for (std::size_t size = 1; size < whole.size(); ++size) {
        const std::string two = record(whole.substr(0, size)) + record(whole.substr(size));
        CHECK(read(two).server_name == "a.org");
    }
    std::string single;
    for (const char byte : whole)
        single += record({byte});
    CHECK(read(single).server_name == "a.org");
    CHECK(read(single + "anything").server_name == "a.org");
}

TEST_CASE("a ClientHello is unfinished until its last byte has come")
{
    const std::string whole = message(body(server_name("a.org")));
    for (const std::string& bytes :
         {record(whole), record(whole.substr(0, 50)) + record(whole.substr(50))}) {
        for (std::size_t size = 0; size < bytes.size(); ++size)
            CHECK(kind(bytes.substr(0, size)) == Kind::unfinished);
        CHECK(kind(bytes) == Kind::hello);
    }
}

TEST_CASE("what does not begin like TLS is something else")
{
    CHECK(kind("GET / HTTP/1.1\r\n") == Kind::other);
    CHECK(kind("SSH-2.0-x") == Kind::other);
    CHECK(kind("\0\0\0\x08\4\xd2\x16\x2f"s) == Kind::other); // postgres asks for TLS
    CHECK(kind("\x16"s) == Kind::unfinished);
    CHECK(kind("\x16\x10"s) == Kind::other);
    CHECK(kind("\x13\3"s) == Kind::other);
    CHECK(kind("\x19\3"s) == Kind::other);
}

TEST_CASE("what looks like TLS and begins with no ClientHello is bad")
{
    const std::string good = hello(server_name("a.org"));
    for (const char content : {'\x14', '\x15', '\x17', '\x18'})
        CHECK(kind(content + "\3\1\0\2\1\0"s + good) == Kind::bad);
    CHECK(kind("\x16\3\1\0\0"s + good) == Kind::bad); // an empty record
    const std::string whole = message(body(server_name("a.org")));
    CHECK(kind(record(whole.substr(0, 9)) + "\x15\3\1\0\2\1\0"s + record(whole.substr(9))) ==
          Kind::bad);
    CHECK(kind(record(whole.substr(0, 9)) + "\x15"s) == Kind::bad); // not only once it is whole
    CHECK(kind(record("\2"s + field(body(""), 3))) == Kind::bad);   // a ServerHello
    CHECK(kind(record("\0\0\0\0"s) + good) == Kind::bad);           // a HelloRequest
}

TEST_CASE("a version that servers may read over hides no ClientHello")
{
    const std::string good = hello(server_name("a.org"));
    for (const char* const version : {"\0\0", "\2\1", "\4\3", "\x0f\xff"}) {
        const std::string pair(version, 2);
        CHECK(kind("\x16"s + pair + good.substr(3)) == Kind::bad);
        CHECK(kind("\x16"s + pair + "\0\1\1"s) == Kind::bad); // a record with its first byte
        CHECK(kind("\x16"s + pair + "\0\1"s) == Kind::unfinished);
        CHECK(kind("\x15"s + pair + "\0\2\1\0"s + good) == Kind::bad);
        CHECK(kind("\x14"s + pair + "\0\1\1"s + good) == Kind::bad);
    }
    CHECK(kind("\x16\x10\1"s + good.substr(3)) == Kind::other);
}

TEST_CASE("a ClientHello says how many bytes it takes, in however many records")
{
    const std::string good = hello(server_name("a.org"));
    CHECK(read(good + "more").size == good.size());
    const std::string body = good.substr(5);
    const std::string cut = record(body.substr(0, 20)) + record(body.substr(20) + "more");
    CHECK(read(cut).size == good.size() + 5);
}

TEST_CASE("a server that asks for a second ClientHello is told from one that answers")
{
    const std::string random = "\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91"
                               "\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c"s;
    const auto asks = [](const std::string& bytes) {
        return asks_again({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    };
    const std::string head = "\x16\3\3\0\x58\2\0\0\x54\3\3"s;
    CHECK(asks(head + random) == true);
    CHECK(asks(head + random + "more") == true);
    for (std::size_t part = 0; part < head.size() + random.size(); ++part)
        CHECK(asks((head + random).substr(0, part)) == std::nullopt);
    CHECK(asks(head + std::string(32, 'r')) == false);
    CHECK(asks("SSH-2.0-x") == false);
    CHECK(asks("\x15\3\3\0\2\2\x28"s) == false);
}

TEST_CASE("messages of other protocols that begin with a length are not TLS")
{
    CHECK(kind("\x16\1\0\1\x85\xa6\xff\1"s) == Kind::other); // MySQL's answer to the greeting
    CHECK(kind("\x16\1\0\0\1\0\0\0"s) == Kind::other);       // MongoDB's first message
    CHECK(kind("\x15\1\0\0\1\0\0\0"s) == Kind::other);
    CHECK(kind("\x17\1\0\0\1\0\0\0"s) == Kind::other);
}

TEST_CASE("a malformed ClientHello is bad, and so are two names in one")
{
    CHECK(kind(hello(server_name("a.org") + server_name("a.org"))) == Kind::bad);
    const std::string two = "\0"s + field("a.org", 2) + "\0"s + field("b.org", 2);
    CHECK(kind(hello(extension(0, field(two, 2)))) == Kind::bad);
    CHECK(kind(hello(extension(0, field("\1"s + field("a.org", 2), 2)))) == Kind::bad);
    CHECK(kind(hello(extension(0, field("\0"s + field("", 2), 2)))) == Kind::bad);
    CHECK(kind(hello(extension(0, ""))) == Kind::bad);
    CHECK(kind(hello(extension(0, field("\0"s + field("a.org", 2), 2) + "x"))) == Kind::bad);
    CHECK(kind(hello(server_name("a.org") + "\0"s)) == Kind::bad);
    CHECK(kind(record(message(body("") + "x"))) == Kind::bad);
    CHECK(kind(record(message("\3\3short"s))) == Kind::bad);
    CHECK(kind(record(message(""))) == Kind::bad);
}

TEST_CASE("a ClientHello that is longer than what is looked at is bad")
{
    const std::string long_one =
        hello(server_name("a.org") + extension(21, std::string(9000, 'p')));
    CHECK(kind(long_one) == Kind::hello);
    CHECK(kind("\x16\3\1\x40\0\1\1\0\0"s) == Kind::bad); // its length says so at once
    const std::string whole =
        message(body(server_name("a.org") + extension(21, std::string(9000, 'p'))));
    std::string single;
    for (const char byte : whole)
        single += record({byte});
    CHECK(kind(single.substr(0, most_hello - 1)) == Kind::unfinished);
    CHECK(kind(single.substr(0, most_hello)) == Kind::bad);
}

} // namespace anchorhold::gate::hello_test
