// SPDX-License-Identifier: Apache-2.0
// The texts in code are RFC 7541's own, C.4.1, C.4.2, C.6.1; the rest is as a server sends it.
#include "schema/engine/grpc.hpp"

#include <doctest/doctest.h>

#include <string>

namespace anchorhold::grpc_test {

using namespace engine;
using namespace std::string_literals;
namespace {

std::string framed(char type, char flags, const std::string& payload)
{
    return "\0\0"s + static_cast<char>(payload.size()) + type + flags + "\0\0\0\1"s + payload;
}

// As grpc-go sends an answer: its settings, headers, the message, trailers.
const std::string settings = framed(4, 0, "\0\5\0\0\x40\0"s);
const std::string headers =
    framed(1, 4, "\x20\x88\x5f\x8b\x1d\x75\xd0\x62\x0d\x26\x3d\x4c\x4d\x65\x64"s);
const std::string good_trailers = framed(1, 5, "\x40\x0bgrpc-status\1\x30\x40\x0cgrpc-message\0"s);
const std::string data = framed(0, 0, "\0\0\0\0\5\x0a\3abc"s);

} // namespace

TEST_CASE("HPACK's code is read")
{
    CHECK(huffman_text("\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff") == "www.example.com");
    CHECK(huffman_text("\xa8\xeb\x10\x64\x9c\xbf") == "no-cache");
    CHECK(
        huffman_text("\xd0\x7a\xbe\x94\x10\x54\xd4\x44\xa8\x20\x05\x95\x04\x0b\x81\x66\xe0\x82\xa6"
                     "\x2d\x1b\xff") == "Mon, 21 Oct 2013 20:13:21 GMT");
    CHECK(huffman_text("").empty());
    CHECK(huffman_text("\xff\xff\xff\xff").empty()); // a code that is no character
}

TEST_CASE("HPACK's code has a character of each length where the RFC has it")
{
    struct Code {
        std::uint32_t code;
        unsigned bits;
        std::string text;
    };
    for (const auto& [code, bits, text] :
         {Code{0x9, 5, "t"}, Code{0x2d, 6, "u"}, Code{0x7b, 7, "z"}, Code{0xfb, 8, ";"},
          Code{0x3fa, 10, "("}, Code{0x7fc, 11, "|"}, Code{0xffb, 12, ">"}, Code{0x1ff9, 13, "$"},
          Code{0x1ffd, 13, "~"}, Code{0x3ffd, 14, "}"}, Code{0x7ffe, 15, "{"},
          Code{0x7fff0, 19, "\\"}}) {
        const std::uint32_t padded = code << (32 - bits) | (0xffffffffU >> bits);
        std::string bytes;
        for (unsigned shift = 32; shift > 0 && 32 - shift < bits; shift -= 8)
            bytes += static_cast<char>(padded >> (shift - 8) & 0xffU);
        CHECK(huffman_text(bytes) == text);
    }
}

TEST_CASE("fields of a message come back")
{
    const std::string long_text(300, 'x');
    const std::string message = field(1, "one") + "\x10\x96\1"s + field(3, field(1, long_text)) +
                                "\x25\1\2\3\4"s + "\x31\1\2\3\4\5\6\7\x8"s + field(1, "");
    CHECK(fields(message, 1) == std::vector<std::string>{"one", ""});
    REQUIRE(fields(message, 3).size() == 1);
    CHECK(fields(fields(message, 3)[0], 1) == std::vector<std::string>{long_text});
    CHECK(fields(message, 2).empty());
    for (std::size_t size = 0; size < message.size(); ++size)
        CHECK(fields(message.substr(0, size), 3).size() <= 1);
}

TEST_CASE("a call is one stream of a new connection")
{
    const std::string request = grpc_request("/x.Y/Z", "message");
    CHECK(request.starts_with("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    CHECK(request.contains("\0\5:path\6/x.Y/Z"s));
    CHECK(request.ends_with("\0\0\x0c\0\1\0\0\0\1\0\0\0\0\7message"s));
}

TEST_CASE("an answer is read in pieces of any size")
{
    const std::string all = settings + headers + data + good_trailers;
    for (std::size_t piece = 1; piece <= all.size(); ++piece) {
        GrpcAnswer answer;
        std::string back;
        for (std::size_t at = 0; at < all.size(); at += piece) {
            CHECK_FALSE(answer.message());
            back += answer.take(all.substr(at, piece));
        }
        CHECK(answer.has_ended());
        CHECK(answer.message() == field(1, "abc"));
        CHECK(back == "\0\0\0\4\1\0\0\0\0"s); // its settings are acknowledged
    }
}

TEST_CASE("an answer that says no has the server's words")
{
    GrpcAnswer answer;
    answer.take(settings +
                framed(1, 5,
                       "\x88\x40\x0bgrpc-status\1\x32\x40\x0cgrpc-message\x0fno %22x%22%0a"s
                       "ok"s));
    CHECK(answer.has_ended());
    CHECK_FALSE(answer.message());
    CHECK(answer.error() == "no \"x\"%0aok"); // lower case is none of gRPC's
}

TEST_CASE("an answer that is none is none")
{
    for (const std::string& bad :
         {framed(7, 0, ""), framed(3, 0, "\0\0\0\1"s), headers + data + framed(1, 5, "\x88"),
          headers + framed(0, 0, "\0\0\0\0\6\x0a\3abc"s) + good_trailers,
          headers + framed(0, 0, "\1\0\0\0\5\x0a\3abc"s) + good_trailers, headers + good_trailers,
          framed(1, 5, "\x40\x0bgrpc-status\1"s), framed(1, 5, "\x40\xff\xff\xff\xff\xff\xff"s),
          framed(0, 9, "\x7f"), framed(0, 9, ""), framed(1, 13, "\3a"), framed(9, 4, "\x40")}) {
        GrpcAnswer answer;
        answer.take(settings + bad);
        CHECK_FALSE(answer.message());
        CHECK(answer.error() == "no answer that can be read");
    }
    GrpcAnswer pinged;
    CHECK(pinged.take(framed(6, 0, "12345678")) == "\0\0\x8\6\1\0\0\0\00012345678"s);
}

} // namespace anchorhold::grpc_test
