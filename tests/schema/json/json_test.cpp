// SPDX-License-Identifier: Apache-2.0
#include "schema/json/json.hpp"

#include <doctest/doctest.h>

namespace anchorhold::json_test {

using json::Document;
using json::Kind;
using json::Layout;
using json::Limits;
using json::Splice;
using json::View;
using json::Writer;

namespace {

Document parsed(std::string text)
{
    auto document = Document::parse(std::move(text));
    REQUIRE_MESSAGE(document.has_value(), document.error().what);
    return *std::move(document);
}

// Returns why the gate refuses the text, or "" when it does not.
std::string refusal(std::string text, const Limits& limits = {})
{
    auto document = Document::parse(std::move(text), Code::config_ambiguous, limits);
    if (document)
        return "";
    CHECK(document.error().code == Code::config_ambiguous);
    CHECK(document.error().number == 0);
    return document.error().what;
}

std::string nested(std::size_t levels, const char* open, const char* close)
{
    std::string text;
    for (std::size_t i = 0; i < levels; ++i)
        text += open;
    text += "1";
    for (std::size_t i = 0; i < levels; ++i)
        text += close;
    return text;
}

View at(const View& object, std::string_view key)
{
    const auto member = object.find(key);
    REQUIRE(member.has_value());
    return *member;
}

// Writes "key@begin-end" of every value, in order: all that the gate has learnt.
void describe(const View& value, std::string& out)
{
    out += value.key() + "@" + std::to_string(value.span().begin) + "-" +
           std::to_string(value.span().end) + " ";
    for (const View& item : value.items())
        describe(item, out);
}

} // namespace

TEST_CASE("every value is known by the bytes it occupies")
{
    const Document document =
        parsed("{ \"a\" :[1 , -2.5e3,\"x\\\"\"], \"b\":{}, \"c\" : null\n}\n");
    std::string seen;
    describe(document.root(), seen);
    CHECK(seen == "@0-47 a@7-25 @8-9 @12-18 @19-24 b@31-33 c@41-45 ");
    const View b = at(document.root(), "b");
    CHECK(b.key_span() == json::Span{27, 30});
    CHECK(b.raw() == "{}");
    CHECK(document.root().key_span() == json::Span{});
}

TEST_CASE("scalars of every kind stand alone, with blanks around them")
{
    const std::pair<const char*, Kind> cases[] = {
        {" null ", Kind::null},     {"true", Kind::boolean}, {"\tfalse\r\n", Kind::boolean},
        {"-0.10e+2", Kind::number}, {"\"\"", Kind::string},  {"[ ]", Kind::array},
        {"{\n}", Kind::object}};
    for (const auto& [text, kind] : cases) {
        const Document document = parsed(text);
        CHECK(document.root().kind() == kind);
        CHECK(document.root().size() == 0);
        CHECK(document.root().where() == "the document");
    }
    CHECK(parsed(" -0.10e+2 ").root().raw() == "-0.10e+2");
}

TEST_CASE("a place is named as a reader would look it up")
{
    const Document document = parsed(R"({"linux":{"namespaces":[0,1,{"path":1}],
        "sysctl":{"net.ipv4.x":1,"a\n\"b":[[7]]}}})");
    const View linux = at(document.root(), "linux");
    CHECK(at(at(linux, "namespaces").items()[2], "path").where() == "linux.namespaces[2].path");
    const View sysctl = at(linux, "sysctl");
    CHECK(at(sysctl, "net.ipv4.x").where() == "linux.sysctl[\"net.ipv4.x\"]");
    CHECK(at(sysctl, "a\n\"b").items()[0].items()[0].where() ==
          "linux.sysctl[\"a\\x0a\\x22b\"][0][0]");
    CHECK(parsed("[[1]]").root().items()[0].items()[0].where() == "[0][0]");
    CHECK(parsed("{\"\":{\"a\":1}}").root().items()[0].items()[0].where() == "[\"\"].a");
}

TEST_CASE("members are found by their exact decoded name")
{
    const Document document = parsed(R"({"plain":1,"esc\u0061ped":2,"A":3})");
    CHECK(at(document.root(), "escaped").raw() == "2");
    CHECK(at(document.root(), "escaped").key() == "escaped");
    CHECK_FALSE(document.root().find("a").has_value());
    CHECK_FALSE(document.root().find("Plain").has_value());
    CHECK_FALSE(parsed("[1]").root().find("").has_value());
}

TEST_CASE("typed reads decode, and say where something else stands")
{
    const Document document = parsed(
        R"({"s":"t\u00e9\ud83d\ude00\n","b":false,"i":-12,"u":18446744073709551615,"f":1.0,"n":null})");
    const View root = document.root();
    CHECK(at(root, "s").string() == "t\u00e9\U0001f600\n");
    CHECK(at(root, "b").boolean() == false);
    CHECK(at(root, "i").integer() == -12);
    CHECK(at(root, "i").string().error().what == "i: expected a string");
    CHECK(at(root, "n").boolean().error().what == "n: expected true or false");
    CHECK(at(root, "u").integer().error().what == "u: expected an integer");
    CHECK(at(root, "f").integer().error().what == "f: expected an integer");
    CHECK(at(root, "n").array().error().what == "n: expected an array");
    CHECK(at(root, "n").object().error().what == "n: expected an object");
    CHECK(at(root, "s").integer().error().code == Code::config_ambiguous);
    CHECK(root.object()->size() == 6);
}

TEST_CASE("a text that is not config.json fails with its own code")
{
    const auto broken = Document::parse("{", Code::invalid_policy);
    CHECK(broken.error().code == Code::invalid_policy);
    const auto document = Document::parse("[1]", Code::invalid_policy);
    CHECK(document->root().items()[0].string().error().code == Code::invalid_policy);
}

TEST_CASE("unknown members are refused by name where only some are allowed")
{
    const Document document = parsed(R"({"o":{"a":1,"b\u001b":2}})");
    const View object = at(document.root(), "o");
    CHECK(object.only({"a", "b\x1b"}).has_value());
    CHECK(object.only({"a"}).error().what == "o: unknown member \"b\\x1b\"");
}

TEST_CASE("R11 the same key twice is refused in any object, with its place (C-50)")
{
    CHECK(refusal(R"({"linux":1,"process":2,"linux":3})") ==
          "the document: member \"linux\" appears twice");
    CHECK(refusal(R"({"a":[0,{"x":{"k":1,"k":1}}]})") == "a[1].x: member \"k\" appears twice");
    CHECK(refusal(R"({"a":{"hooks":1,"h\u006foks":null}})") == "a: member \"hooks\" appears twice");
    CHECK(refusal(R"({"":1,"":2})") == "the document: member \"\" appears twice");
    CHECK(refusal(R"({"a":{"k":1},"b":{"k":1},"k":[{"k":1},{"k":1}]})") == "");
}

TEST_CASE("what readers take for the same text differently is refused (C-64)")
{
    CHECK(refusal("") == "the document is empty");
    CHECK(refusal(" \n ") == "line 2, column 2: nothing but blanks");
    CHECK(refusal("\xef\xbb\xbf{}") == "a byte order mark stands before the document");
    CHECK(refusal("{} x") == "line 1, column 4: text after the document's end");
    CHECK(refusal("{}{}") == "line 1, column 3: text after the document's end");
    CHECK(refusal("{\"a\":1,}") == "line 1, column 8: expected a member name");
    CHECK(refusal("[1,]") == "line 1, column 4: expected a value");
    CHECK(refusal("{\n// no\n}") == "line 2, column 1: expected a member name");
    CHECK(refusal("{} /* no */") == "line 1, column 4: text after the document's end");
    CHECK(refusal("{'a':1}") == "line 1, column 2: expected a member name");
    CHECK(refusal("[NaN]") == "line 1, column 2: expected a value");
    CHECK(refusal("[Infinity]") == "line 1, column 2: expected a value");
    CHECK(refusal("[+1]") == "line 1, column 2: expected a value");
    CHECK(refusal("[01]") == "line 1, column 3: expected , or ]");
    CHECK(refusal("[.5]") == "line 1, column 2: expected a value");
    CHECK(refusal("[1.]") == "line 1, column 4: expected a digit after the point");
    CHECK(refusal("[1e]") == "line 1, column 4: expected a digit of the exponent");
    CHECK(refusal("{\"a\" 1}") == "line 1, column 6: expected a colon");
    CHECK(refusal("{\"a\":1 \"b\":2}") == "line 1, column 8: expected , or }");
    CHECK(refusal("[\"a\tb\"]") == "line 1, column 4: invalid escape or control character");
    CHECK(refusal("[\"\\x41\"]") == "line 1, column 3: invalid escape or control character");
    CHECK(refusal("[\"\\u00g1\"]") == "line 1, column 3: invalid escape or control character");
    CHECK(refusal("\xc2\xa0{}") == "line 1, column 1: expected a value"); // a blank of Unicode
}

TEST_CASE("a document that stops is told from one that is wrong")
{
    const std::string whole = R"({"a":[true,"xy",-1.5e3,{}]})";
    for (std::size_t length = 1; length < whole.size(); ++length) {
        const std::string why = refusal(whole.substr(0, length));
        CHECK_MESSAGE(why.ends_with(": the document ends too early"), why);
    }
}

TEST_CASE("NUL is refused raw and escaped, in names and values")
{
    using namespace std::string_literals;
    CHECK(refusal("{}\0"s) == "line 1, column 3: NUL byte");
    CHECK(refusal("{\"a\":\n\"x\0y\"}"s) == "line 2, column 3: NUL byte");
    CHECK(refusal("{\"a\":\"x\\u0000\"}") == "line 1, column 6: NUL in a string");
    CHECK(refusal("{\"a\\u0000\":1}") == "line 1, column 2: NUL in a string");
}

TEST_CASE("invalid UTF-8 is refused in names and kept in values nobody interprets (C-52)")
{
    CHECK(refusal("{\"a\":{\"\xff\":1}}") == "line 1, column 7: member name with invalid UTF-8");
    CHECK(refusal("{\"\xed\xa0\x80\":1}") == "line 1, column 2: member name with invalid UTF-8");
    const Document document = parsed("{\"a\":\"\xff\xfe\",\"b\":\"\xed\xb0\x80\"}");
    CHECK(at(document.root(), "a").raw() == "\"\xff\xfe\"");
    CHECK(at(document.root(), "a").string().error().what == "a: invalid UTF-8");
    CHECK(at(document.root(), "a").bytes() == "\xff\xfe");
    CHECK(at(document.root(), "b").string().error().what == "b: invalid UTF-8");
}

TEST_CASE("half a surrogate pair is refused, a whole one is a character")
{
    const char* const halves[] = {R"(["\ud800"])",       R"(["\udc00"])",
                                  R"(["\uD83D\u0041"])", R"(["\uDE00\uD83D"])",
                                  R"(["\\\uDFFF"])",     R"(["\ud83d\ude00\ude00"])"};
    for (const char* text : halves)
        CHECK_MESSAGE(refusal(text).ends_with(": half a surrogate pair"), text);
    CHECK(refusal(R"({"\udc00":1})") == "line 1, column 2: half a surrogate pair");
    CHECK(parsed(R"(["\ud83d\ude00\\udc00\ud7ff\ue000"])").root().items()[0].string() ==
          "\U0001f600\\udc00\ud7ff\ue000");
}

TEST_CASE("numbers stay the bytes they were, unless no double can hold them (C-34)")
{
    const char* const kept[] = {"9223372036854775807",
                                "18446744073709551615",
                                "18446744073709551616",
                                "1E+2",
                                "0.1000",
                                "-0",
                                "1e-999999",
                                "0.30000000000000004",
                                "1.7976931348623157e308"};
    for (const char* number : kept)
        CHECK(parsed("[" + std::string(number) + "]").root().items()[0].raw() == number);
    CHECK(refusal("[1e400]") == "line 1, column 2: number too big");
    CHECK(refusal("[0,-1e309]") == "line 1, column 4: number too big");
    CHECK(refusal("[1.8e308]") == "line 1, column 2: number too big");
}

TEST_CASE("depth is bounded without recursion, whatever the nesting (C-67)")
{
    CHECK(refusal(nested(64, "[", "]")) == "");
    CHECK(refusal(nested(64, "{\"a\":", "}")) == "");
    CHECK(refusal(nested(65, "[", "]")) == "line 1, column 65: nested deeper than 64 levels");
    CHECK(refusal(nested(65, "{\"a\":", "}")).ends_with(": nested deeper than 64 levels"));
    CHECK(refusal(nested(10'000, "[", "]")).ends_with(": nested deeper than 64 levels"));
    CHECK(refusal(nested(1'000'000, "{\"a\":", "}")).ends_with(": nested deeper than 64 levels"));
    CHECK(refusal(std::string(1'000'000, '[')).ends_with(": nested deeper than 64 levels"));
}

TEST_CASE("size and number of values are bounded")
{
    CHECK(refusal("[1,2]", {.bytes = 5}) == "");
    CHECK(refusal("[1,2]", {.bytes = 4}) == "5 bytes, more than the 4 that are read");
    CHECK(refusal("[1,2]", {.values = 3}) == "");
    CHECK(refusal("[1,2]", {.values = 2}) == "more than 2 values");
    const std::string blanks(std::size_t{16} * 1024 * 1024, ' ');
    CHECK(refusal(blanks + "{}") == "16777218 bytes, more than the 16777216 that are read");
}

TEST_CASE("an object of very many members is checked in bounded time")
{
    std::string text = "{\"k\":0";
    for (int i = 0; i < 200'000; ++i)
        text += ",\"k" + std::to_string(i) + "\":0";
    CHECK(refusal(text + "}") == "");
    CHECK(refusal(text + ",\"k77\":1}") == "the document: member \"k77\" appears twice");
}

TEST_CASE("splices replace and insert, in any order, and leave every other byte")
{
    CHECK(json::splice("0123456789", {{{8, 9}, "B"}, {{2, 4}, "A"}, {{10, 10}, "!"}}) ==
          "01A4567B9!");
    CHECK(json::splice("abc", {}) == "abc");
    // Inserts at one place keep their order, and stand before what is replaced there.
    CHECK(json::splice("abc", {{{1, 2}, "X"}, {{1, 1}, "1"}, {{1, 1}, "2"}, {{2, 2}, "3"}}) ==
          "a12X3c");
}

TEST_CASE("quoted text reads back as it was")
{
    CHECK(json::quote("a\"b\\c\b\f\n\r\t\x01\x1f\x7f/\u2028") ==
          "\"a\\\"b\\\\c\\b\\f\\n\\r\\t\\u0001\\u001f\x7f/\u2028\"");
    CHECK(json::quote("\xff|\xe4\xb8") == "\"\ufffd|\ufffd\ufffd\"");
    std::string all;
    for (char c = 1; c < 127; ++c)
        all += c;
    CHECK(parsed(json::quote(all)).root().string() == all);
}

namespace {

std::string written(Layout layout)
{
    Writer writer(layout);
    writer.begin_object()
        .member("name", "a\"b")
        .strings("words", {"x", "y"})
        .strings("none", {})
        .key("list")
        .begin_array()
        .integer(-1)
        .boolean(true)
        .null()
        .begin_object()
        .end_object()
        .end_array()
        .end_object();
    return writer.take();
}

} // namespace

TEST_CASE("the writer writes one line, or one for people")
{
    CHECK(written(Layout::compact) ==
          R"({"name":"a\"b","words":["x","y"],"none":[],"list":[-1,true,null,{}]})");
    CHECK(written(Layout::pretty) == R"({
  "name": "a\"b",
  "words": [
    "x",
    "y"
  ],
  "none": [],
  "list": [
    -1,
    true,
    null,
    {}
  ]
}
)");
}

TEST_CASE("a document is validated against a schema, naming place and keyword")
{
    constexpr std::string_view schema = R"({"type":"object","additionalProperties":false,
        "properties":{"n":{"type":"integer","minimum":1},"l":{"type":"array","items":
        {"type":"string","pattern":"^[a-z]+$"}},"e":{"enum":["a","b"]}},"required":["n"]})";
    const auto judge = [&](std::string_view text) -> std::string {
        const auto valid = json::validate(text, schema, Code::invalid_policy);
        if (valid)
            return "";
        CHECK(valid.error().code == Code::invalid_policy);
        return valid.error().what;
    };
    CHECK(judge(R"({"n":1,"l":["ab"],"e":"b"})") == "");
    CHECK(judge(R"({"n":0})") == "/n: refused by \"minimum\" of the schema");
    CHECK(judge(R"({"n":1,"l":["a","B"]})") == "/l/1: refused by \"pattern\" of the schema");
    CHECK(judge(R"({"n":1,"l":["a",2]})") == "/l/1: refused by \"type\" of the schema");
    CHECK(judge(R"({"n":1,"e":"c"})") == "/e: refused by \"enum\" of the schema");
    CHECK(judge(R"({})") == "the document: refused by \"required\" of the schema");
    CHECK(judge(R"({"n":1,"x":1})") == "/x: refused by \"additionalProperties\" of the schema");
    CHECK(judge(R"([])") == "the document: refused by \"type\" of the schema");
}

TEST_CASE("what the gate refuses never reaches the validator")
{
    CHECK(json::validate(R"({"a":1,"a":2})", "{}", Code::invalid_policy).error().what ==
          "the document: member \"a\" appears twice");
    CHECK(json::validate(nested(100'000, "[", "]"), "{}", Code::invalid_policy)
              .error()
              .what.ends_with(": nested deeper than 64 levels"));
}

} // namespace anchorhold::json_test
