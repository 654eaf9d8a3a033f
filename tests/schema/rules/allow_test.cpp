// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/allow.hpp"

#include <doctest/doctest.h>

namespace anchorhold::allow_test {

using namespace rules;
namespace {

// Returns the whole list on one line: "github.com tcp 443; 10.0.0.0/8 udp 1-65535 but 10.9.0.0/16".
std::string told(const std::vector<AllowRule>& rules)
{
    std::string text;
    for (const AllowRule& rule : rules) {
        text += (text.empty() ? "" : "; ") + text_of(rule.to);
        for (const PortRange& ports : rule.ports) {
            text += std::string(ports.udp ? " udp " : " tcp ") + std::to_string(ports.first);
            if (ports.last != ports.first)
                text += "-" + std::to_string(ports.last);
        }
        for (const Prefix& hole : rule.except)
            text += " but " + hole.text();
    }
    return text;
}

std::vector<AllowRule> allow(std::string_view text)
{
    auto rules = parse_allow(text);
    REQUIRE_MESSAGE(rules.has_value(), text);
    return *std::move(rules);
}

std::vector<AllowRule> deny(const std::string& text)
{
    const auto document = json::Document::parse(text);
    REQUIRE(document);
    auto rules = read_rules(document->root(), ListKind::deny);
    REQUIRE_MESSAGE(rules.has_value(), text);
    return *std::move(rules);
}

std::string refusal(std::string_view text)
{
    const auto rules = parse_allow(text);
    if (rules)
        return "";
    CHECK(rules.error().code == Code::invalid_request);
    return rules.error().what;
}

std::string both(std::string_view one, std::string_view other)
{
    const std::string forth = told(intersect(allow(one), allow(other)));
    // The order of the two lists must not matter where one rule meets one rule.
    CHECK(told(intersect(allow(other), allow(one))) == forth);
    return forth;
}

std::string left(std::string_view rules, const std::string& denied)
{
    return told(drop_denied(allow(rules), deny(denied)));
}

} // namespace

TEST_CASE("the short form and the JSON form say the same")
{
    CHECK(told(allow("github.com, pypi.org:443, 10.1.0.0/16:5432")) ==
          "github.com tcp 443; pypi.org tcp 443; 10.1.0.0/16 tcp 5432");
    CHECK(told(allow("[\"github.com\", \"pypi.org:443\", \"10.1.0.0/16:5432\"]")) ==
          "github.com tcp 443; pypi.org tcp 443; 10.1.0.0/16 tcp 5432");
    CHECK(told(allow(R"([{"to":"github.com"},
                         {"to":"10.1.0.0/16","ports":[{"port":5432}],"except":["10.1.9.0/24"]}])")) ==
          "github.com tcp 443; 10.1.0.0/16 tcp 5432 but 10.1.9.0/24");
    CHECK(told(allow("2001:db8::1, [2001:db8::/32]:22, [2001:db8::2]")) ==
          "2001:db8::1/128 tcp 443; 2001:db8::/32 tcp 22; 2001:db8::2/128 tcp 443");
    CHECK(told(allow("[2001:db8::/32]:22")) == "2001:db8::/32 tcp 22");
    CHECK(told(allow(" *.x.org:22 \n")) == "*.x.org tcp 22");
}

TEST_CASE("ports have the shape Kubernetes gives them")
{
    CHECK(told(allow(R"([{"to":"x.org","ports":[{"port":80},{"port":8000,"endPort":8010},
                                               {"protocol":"UDP","port":53}]}])")) ==
          "x.org tcp 80 tcp 8000-8010 udp 53");
}

TEST_CASE("B-47: no entry at all is a list of nothing")
{
    CHECK(allow("").empty());
    CHECK(allow(" \n").empty());
    CHECK(allow("[]").empty());
}

TEST_CASE("B-48: an allow list that is wrong anywhere is refused, with the place")
{
    CHECK(refusal("github.com,") == "\"github.com,\" has an empty entry");
    CHECK(refusal(",") == "\",\" has an empty entry");
    CHECK(refusal("a.org,,b.org") == "\",b.org\" has an empty entry");
    CHECK(refusal("x.org:0") == "\"x.org:0\": \"0\" is not a port");
    CHECK(refusal("x.org:65536") == "\"x.org:65536\": \"65536\" is not a port");
    CHECK(refusal("x.org:") == "\"x.org:\": \"\" is not a port");
    CHECK(refusal("x.org:https") == "\"x.org:https\": \"https\" is not a port");
    CHECK(refusal("[::1") == "\"[::1\" is not an address");
    CHECK(refusal("[{\"to\":\"x.org\",\"ports\":[{\"port\":0}]}]") ==
          "[0].ports[0].port: 0 is not a port");
    CHECK(refusal("[{\"to\":\"x.org\",\"ports\":[{\"port\":\"https\"}]}]") ==
          "[0].ports[0].port: expected an integer");
    CHECK(refusal("[{\"to\":\"x.org\",\"ports\":[{\"port\":90,\"endPort\":80}]}]") ==
          "[0].ports[0].endPort: is below port");
    CHECK(refusal("[{\"to\":\"x.org\",\"ports\":[{\"port\":90,\"protocol\":\"SCTP\"}]}]") ==
          "[0].ports[0].protocol: expected TCP or UDP");
    CHECK(refusal("[{\"to\":\"x.org\",\"ports\":[{\"protocol\":\"TCP\"}]}]") ==
          "[0].ports[0]: has no port");
    CHECK(refusal("[{\"to\":\"x.org\",\"ports\":[]}]") == "[0].ports: expected at least one port");
    CHECK(refusal("[{\"ports\":[{\"port\":1}]}]") == "[0]: has no \"to\"");
    CHECK(refusal("[{\"to\":\"x.org\",\"action\":\"allow\"}]") == "[0]: unknown member \"action\"");
    CHECK(refusal("[{\"to\":\"x.org:443\"}]") == "[0].to: \"x.org:443\" is not an address");
    CHECK(refusal("[\"x.org\", 3]") == "[1]: expected an object");
    CHECK(refusal("[3]") == "\"3\" is not an address");
    CHECK(refusal("[{\"to\":\"10.0.0.0/8\",\"except\":[\"11.0.0.0/9\"]}]") ==
          "[0].except[0]: does not lie inside 10.0.0.0/8");
    CHECK(refusal("[{\"to\":\"10.0.0.0/8\",\"except\":[\"10.0.0.0/8\"]}]") ==
          "[0].except[0]: does not lie inside 10.0.0.0/8");
    CHECK(refusal("[{\"to\":\"x.org\",\"except\":[\"10.0.0.0/8\"]}]") ==
          "[0].except[0]: does not lie inside x.org");
    for (const std::string word : {"tls", "within", "public_suffix"})
        CHECK(refusal("[{\"to\":\"x.org\",\"" + word + "\":\"any\"}]") ==
              "[0]." + word + ": is for the policy's own lists alone");
    std::string many = "a.org";
    for (int i = 0; i < 5000; ++i)
        many += ",a.org";
    CHECK(refusal(many) == "more than 5000 entries");
}

TEST_CASE("a URL is named as one, with its host")
{
    CHECK(refusal("https://api.example.com") ==
          "\"https://api.example.com\" is a URL; say the host: api.example.com");
    CHECK(refusal("x.org, http://a@h.org:8080/v1?u=http://b#c") ==
          "\"http://a@h.org:8080/v1?u=http://b#c\" is a URL; say the host: h.org:8080");
    CHECK(refusal(R"(["https://[2001:db8::1]/"])") ==
          "[0]: \"https://[2001:db8::1]/\" is a URL; say the host: [2001:db8::1]");
    CHECK(refusal(R"([{"to": "https://x.org"}])") ==
          "[0].to: \"https://x.org\" is a URL; say the host: x.org");
}

TEST_CASE("C-57 a list may be long, not what there is to do for it")
{
    std::string names = "n0.org";
    for (int i = 1; i < 256; ++i)
        names += ",n" + std::to_string(i) + ".org";
    CHECK(parse_allow(names));
    CHECK(refusal(names + ",one.more") == "more than 256 names");
    std::string ports = R"({"to":"10.0.0.0/8","ports":[{"port":1})";
    for (int i = 2; i <= 64; ++i)
        ports += R"(,{"port":)" + std::to_string(i) + "}";
    ports += "]}";
    std::string rules = "[" + ports;
    for (int i = 1; i < 256; ++i)
        rules += "," + ports;
    CHECK(parse_allow(rules + "]"));
    CHECK(refusal(rules + R"(,"1.1.1.1"])") ==
          "the document: has more than 16384 ports and exceptions");
}

TEST_CASE("a deny without ports means every port, and has no holes")
{
    CHECK(told(deny(R"(["10.0.0.0/8", "x.org:53", {"to":"y.org","ports":[{"port":1}]},
                        {"to":"z.org","ports":[{"port":2,"protocol":"UDP"}]}])")) ==
          "10.0.0.0/8 tcp 1-65535 udp 1-65535; x.org tcp 53 udp 53; y.org tcp 1 udp 1; "
          "z.org udp 2");
    const auto document =
        json::Document::parse(R"([{"to":"10.0.0.0/8","except":["10.1.0.0/16"]}])");
    REQUIRE(document);
    const auto rules = read_rules(document->root(), ListKind::deny);
    REQUIRE(!rules);
    CHECK(rules.error().what == "[0].except: has no place in a deny list");
}

TEST_CASE("two lists let through what both do")
{
    CHECK(both("github.com", "github.com") == "github.com tcp 443");
    CHECK(both("github.com", "pypi.org").empty());
    CHECK(both("api.x.org", "*.x.org") == "api.x.org tcp 443");
    CHECK(both("*.x.org", "**.x.org") == "*.x.org tcp 443");
    CHECK(both("**.a.x.org", "*.x.org").empty());
    CHECK(both("10.1.0.0/16", "10.0.0.0/8") == "10.1.0.0/16 tcp 443");
    CHECK(both("10.1.0.0/16", "10.2.0.0/16").empty());
    // The addresses of github.com are not known here, so neither list grants them.
    CHECK(both("github.com", "0.0.0.0/0").empty());
    CHECK(both("x.org:80", "x.org:443").empty());
    CHECK(
        both(R"([{"to":"x.org","ports":[{"port":80,"endPort":90},{"port":53,"protocol":"UDP"}]}])",
             R"([{"to":"x.org","ports":[{"port":85,"endPort":99},{"port":53}]}])") ==
        "x.org tcp 85-90");
    CHECK(both("", "x.org").empty());
}

TEST_CASE("of two lists of the policy the stricter words hold, beside an annotation's the policy's")
{
    const auto words = [](Tls tls, std::string_view range) {
        AllowRule rule = allow("x.org").front();
        rule.tls = tls;
        rule.within = {*Prefix::parse(range, Code::invalid_request)};
        return std::vector{rule};
    };
    const auto loose = words(Tls::any, "10.0.0.0/8");
    CHECK(text_of(intersect(loose, words(Tls::no_ech, "10.1.0.0/16")).front()) ==
          "x.org tcp 443 tls no-ech within 10.1.0.0/16");
    CHECK(text_of(intersect(loose, words(Tls::same_name, "192.168.0.0/16")).front()) ==
          "x.org tcp 443");
    CHECK(text_of(intersect(loose, allow("x.org")).front()) == "x.org tcp 443");
    CHECK(text_of(intersect(allow("x.org"), words(Tls::no_ech, "10.0.0.0/8")).front()) ==
          "x.org tcp 443 tls no-ech");
    CHECK(text_of(intersect(loose, allow("x.org"), WordsOf::first).front()) ==
          "x.org tcp 443 tls any within 10.0.0.0/8");
    auto wide = allow("**.org");
    wide.front().public_suffix = true;
    CHECK_FALSE(intersect(wide, allow("**.org")).front().public_suffix);
    CHECK(intersect(wide, allow("*.x.org"), WordsOf::first).front().public_suffix);
}

TEST_CASE("exceptions of either list survive where they still cut something out")
{
    CHECK(both(R"([{"to":"10.0.0.0/8","except":["10.1.9.0/24","10.7.0.0/16"]}])", "10.1.0.0/16") ==
          "10.1.0.0/16 tcp 443 but 10.1.9.0/24");
    CHECK(both(R"([{"to":"10.0.0.0/8","except":["10.1.0.0/16"]}])", "10.1.2.0/24").empty());
    CHECK(both(R"([{"to":"10.0.0.0/8","except":["10.1.0.0/16"]}])",
               R"([{"to":"10.0.0.0/8","except":["10.1.0.0/16"]}])") ==
          "10.0.0.0/8 tcp 443 but 10.1.0.0/16");
}

TEST_CASE("several rules meet several, each result once")
{
    CHECK(told(intersect(allow("**.x.org, a.x.org, 10.0.0.0/8"),
                         allow("a.x.org, b.x.org:22, 10.1.0.0/16"))) ==
          "a.x.org tcp 443; 10.1.0.0/16 tcp 443");
}

TEST_CASE("B-49: deny wins over every allow")
{
    CHECK(left("github.com, pypi.org", "[\"github.com\"]") == "pypi.org tcp 443");
    CHECK(left("a.x.org", "[\"*.x.org\"]").empty());
    CHECK(left("10.1.0.0/16", "[\"10.0.0.0/8\"]").empty());
    CHECK(left("10.0.0.0/8", "[\"10.0.0.0/9\", \"10.128.0.0/9\"]").empty());
    CHECK(left(R"([{"to":"10.0.0.0/8","except":["10.0.0.0/9"]}])", "[\"10.128.0.0/9\"]").empty());
    CHECK(left(R"([{"to":"10.0.0.0/8","except":["10.0.0.0/9","10.128.0.0/9"]}])", "[]").empty());
    CHECK(left("x.org", "[]") == "x.org tcp 443");
}

TEST_CASE("a deny of some ports takes those ports")
{
    const std::string wide = R"([{"to":"x.org","ports":[{"port":20,"endPort":30}]}])";
    CHECK(left(wide, "[\"x.org:25\"]") == "x.org tcp 20-24 tcp 26-30");
    CHECK(left(wide, R"([{"to":"x.org","ports":[{"port":1,"endPort":22}]}])") == "x.org tcp 23-30");
    CHECK(left(wide, R"([{"to":"x.org","ports":[{"port":25,"endPort":65535}]}])") ==
          "x.org tcp 20-24");
    CHECK(left(wide, R"([{"to":"x.org","ports":[{"port":25,"protocol":"UDP"}]}])") ==
          "x.org tcp 20-30");
    CHECK(left(wide, R"(["x.org:20", {"to":"x.org","ports":[{"port":21,"endPort":30}]}])").empty());
}

TEST_CASE("a deny inside a destination leaves the rest to whoever enforces it")
{
    CHECK(left("10.0.0.0/8", "[\"10.1.0.0/16\"]") == "10.0.0.0/8 tcp 443");
    CHECK(left("**.x.org", "[\"a.x.org\"]") == "**.x.org tcp 443");
}

} // namespace anchorhold::allow_test
