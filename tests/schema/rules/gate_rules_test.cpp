// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/gate_rules.hpp"

#include "schema/rules/always_denied.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace anchorhold::rules::gate_rules_test {
namespace {

GateRules rules_of(const std::string& text)
{
    const auto rules = read_gate_rules(text);
    REQUIRE_MESSAGE(rules, rules.error().what);
    return *rules;
}

std::string refusal_of(const std::string& text)
{
    const auto rules = read_gate_rules(text);
    REQUIRE_FALSE(rules);
    CHECK((rules.error().code == Code::invalid_policy ||
           rules.error().code == Code::invalid_request));
    return rules.error().what;
}

NamePattern name(const std::string& text)
{
    return *NamePattern::parse(text, Code::invalid_request);
}

Prefix address(const std::string& text)
{
    return *Prefix::parse(text, Code::invalid_request);
}

std::string by(const AllowRule* rule)
{
    return rule == nullptr ? "no rule" : text_of(*rule);
}

Ruling ruling(const GateMatcher& matcher, const std::string& text, const std::string& to)
{
    const AllowRule* const rule = matcher.rule_for(name(text), 443);
    REQUIRE(rule != nullptr);
    return matcher.judge(*rule, address(to), 443).ruling;
}

} // namespace

TEST_CASE("the gate's rules read back as they were written")
{
    const std::vector<std::string> texts{
        "{}",
        R"({"handles":"10.9.0.0/16","pool":"198.19.0.0/24","epoch":3})",
        R"({"allow":["x.org","*.y.org:22",{"to":"z.org","tls":"any","within":["10.0.0.0/8"]},
            {"to":"w.org","tls":"no-ech"},
            {"to":"192.0.2.0/24","ports":[{"port":1,"endPort":9},{"port":53,"protocol":"UDP"}],
             "except":["192.0.2.1","192.0.2.128/25"]},"[2001:db8::/32]:80"]})",
        R"({"deny":["x.org","**.y.org:22","192.0.2.0/24",
            {"to":"::1","ports":[{"port":7,"protocol":"UDP"}]}]})",
        R"({"endpoints":[{"name":"a","to":"host","port":1},{"name":"b","to":"127.0.0.1","port":2},
            {"name":"c","to":"db.x.org","port":65535,"within":["fd00::/8"]},
            {"name":"d","to":"2001:db8::1","port":3}]})",
    };
    for (const std::string& text : texts) {
        const GateRules rules = rules_of(text);
        CHECK(rules_of(to_json(rules)) == rules);
    }
}

TEST_CASE("a rule that two lists have in common, with the parts of both, reads back")
{
    AllowRule rule{address("192.0.2.0/24"), {}, {}};
    for (std::uint16_t port = 1; port <= most_rule_parts + 1; ++port) {
        rule.ports.push_back(
            {static_cast<std::uint16_t>(2 * port), static_cast<std::uint16_t>(2 * port), false});
        rule.except.push_back(address("192.0.2." + std::to_string(port)));
    }
    GateRules rules;
    rules.allow = {rule};
    CHECK(rules_of(to_json(rules)) == rules);
}

TEST_CASE("without any member the gate's rules allow nothing")
{
    const GateRules rules = rules_of("{}");
    CHECK(rules == GateRules{});
    CHECK(rules.handles == address("198.19.0.0/16"));
    CHECK(rules.pool == address("198.18.0.0/16"));
    const GateMatcher matcher(rules);
    CHECK(matcher.names().empty());
    CHECK_FALSE(matcher.lists(name("github.com")));
    CHECK(matcher.rule_for(name("github.com"), 443) == nullptr);
    CHECK(matcher.rule_for(address("1.1.1.1"), 443) == nullptr);
}

TEST_CASE("every member of the gate's rules is read")
{
    const GateRules rules = rules_of(R"({"handles":"25.1.0.0/16","pool":"10.9.0.0/16","epoch":2,
        "allow":["a.org",{"to":"*.b.org","tls":"no-ech"},{"to":"c.org","tls":"any",
        "within":["10.0.0.0/8","fc00::/7"]}],"deny":["bad.b.org"],
        "endpoints":[{"name":"db","to":"db.c.org","port":5432,"within":["10.0.0.0/8"]},
        {"name":"model","to":"host","port":9000}]})");
    CHECK(rules.epoch == 2);
    CHECK(rules.handles == address("25.1.0.0/16"));
    REQUIRE(rules.allow.size() == 3);
    CHECK(rules.allow[0].tls == Tls::same_name);
    CHECK(rules.allow[1].tls == Tls::no_ech);
    CHECK(rules.allow[2].tls == Tls::any);
    CHECK(rules.allow[2].within == std::vector{address("10.0.0.0/8"), address("fc00::/7")});
    CHECK(rules.deny.size() == 1);
    REQUIRE(rules.endpoints.size() == 2);
    CHECK(text_of(rules.endpoints[0].rule) == "db.c.org tcp 5432 within 10.0.0.0/8");
    CHECK(rules.endpoints[0].rule.within.size() == 1);
    CHECK_FALSE(rules.endpoints[0].is_host);
    CHECK(rules.endpoints[1].is_host);
    CHECK(text_of(rules.endpoints[1].rule) == "127.0.0.1/32 tcp 9000");
}

TEST_CASE("what is wrong in the gate's rules is refused with its place")
{
    CHECK(refusal_of("[]") == "the document: expected an object");
    CHECK(refusal_of(R"({"alow":[]})") == "the document: unknown member \"alow\"");
    CHECK(refusal_of(R"({"epoch":4})") == "epoch: expected 0 to 3");
    CHECK(refusal_of(R"({"allow":[{"to":"a.org","tls":"off"}]})") ==
          "allow[0].tls: expected same-name, no-ech or any");
    CHECK(refusal_of(R"({"allow":[{"to":"1.1.1.1","tls":"any"}]})") ==
          "allow[0].tls: has a place only beside a name");
    CHECK(refusal_of(R"({"allow":[{"to":"1.1.1.1","within":[]}]})") ==
          "allow[0].within: has a place only beside a name");
    CHECK(refusal_of(R"({"deny":[{"to":"a.org","tls":"any"}]})") ==
          "deny[0].tls: has no place in a deny list");
    CHECK(refusal_of(R"({"handles":"198.19.0.0/17"})") ==
          "handles 198.19.0.0/17: expected an IPv4 range of at least a /16");
    CHECK(refusal_of(R"({"handles":"fd00::/16"})") ==
          "handles fd00::/16: expected an IPv4 range of at least a /16");
    CHECK(refusal_of(R"({"handles":"198.18.0.0/15"})") ==
          "handles 198.18.0.0/15 overlap the pool 198.18.0.0/16");
    CHECK(refusal_of(R"({"allow":["198.19.1.0/24"]})") ==
          "handles 198.19.0.0/16 hold a rule's 198.19.1.0/24");
    CHECK(refusal_of(R"({"endpoints":[{"name":"a","to":"*.a.org","port":1}]})") ==
          "endpoints[0].to: is not one name or address");
    CHECK(refusal_of(R"({"endpoints":[{"name":"a","to":"10.0.0.0/8","port":1}]})") ==
          "endpoints[0].to: is not one name or address");
    CHECK(refusal_of(R"({"endpoints":[{"name":"a","to":"a.org"}]})") ==
          "endpoints[0]: has not \"name\", \"to\" and \"port\"");
}

TEST_CASE("an annotation and a profile cannot ask for the gate's words yet")
{
    CHECK_FALSE(parse_allow(R"([{"to":"a.org","tls":"any"}])"));
    CHECK_FALSE(parse_allow(R"([{"to":"a.org","within":["10.0.0.0/8"]}])"));
}

TEST_CASE("the gate may be told more names than can be resolved at once")
{
    std::string text = R"({"allow":[)";
    for (int i = 0; i < 4000; ++i)
        text += "\"n" + std::to_string(i) + ".org\",";
    text.back() = ']';
    const GateMatcher matcher(rules_of(text + "}"));
    CHECK(matcher.names().size() == 4000);
    CHECK(matcher.names()[3999] == "n3999.org");
    CHECK(matcher.lists(name("n2500.org")));
}

TEST_CASE("the matcher finds exactly the rules whose pattern covers the name")
{
    const std::vector<std::string> patterns{"a.org",  "*.a.org",    "**.a.org", "x.a.org",
                                            "org",    "*.org",      "**.org",   "y.x.a.org",
                                            "aa.org", "**.x.a.org", "b.org"};
    const std::vector<std::string> asked{"a.org",  "x.a.org", "y.x.a.org", "z.y.x.a.org", "org",
                                         "aa.org", "xa.org",  "b.org",     "a.org.com",   "com"};
    for (const std::string& pattern : patterns) {
        const GateMatcher matcher(rules_of(R"({"allow":[")" + pattern + "\"]}"));
        for (const std::string& text : asked) {
            const bool covered = name(pattern).covers(name(text));
            CHECK_MESSAGE(matcher.lists(name(text)) == covered, pattern << " and " << text);
            CHECK((matcher.rule_for(name(text), 443) != nullptr) == covered);
        }
    }
}

TEST_CASE("of several rules for a name and port the first decides")
{
    const GateMatcher matcher(rules_of(R"({"allow":[{"to":"*.a.org","tls":"any"},"x.a.org",
        {"to":"x.a.org","ports":[{"port":22}]},{"to":"x.a.org","ports":[{"port":53,
        "protocol":"UDP"}]}]})"));
    CHECK(by(matcher.rule_for(name("x.a.org"), 443)) == "*.a.org tcp 443 tls any");
    CHECK(by(matcher.rule_for(name("x.a.org"), 22)) == "x.a.org tcp 22");
    CHECK(by(matcher.rule_for(name("x.a.org"), 53)) == "no rule");
    CHECK(matcher.names() == std::vector<std::string>{"x.a.org"});
}

TEST_CASE("a name with no tcp port is not listed")
{
    const GateMatcher matcher(
        rules_of(R"({"allow":[{"to":"a.org","ports":[{"port":53,"protocol":"UDP"}]}]})"));
    CHECK_FALSE(matcher.lists(name("a.org")));
    CHECK(matcher.names().empty());
}

TEST_CASE("deny wins over every allow rule, for a name and for its addresses")
{
    const GateMatcher matcher(rules_of(R"({"allow":["**.a.org","5.0.0.0/8"],
        "deny":["bad.a.org",{"to":"ssh.a.org","ports":[{"port":443}]},"5.5.0.0/16","2001:db8::/32"]})"));
    CHECK(matcher.lists(name("good.a.org")));
    CHECK_FALSE(matcher.lists(name("bad.a.org")));
    CHECK_FALSE(matcher.lists(name("ssh.a.org")));
    CHECK(by(matcher.rule_for(name("bad.a.org"), 443)) == "no rule");
    CHECK(ruling(matcher, "good.a.org", "5.5.1.2") == Ruling::denied);
    CHECK(ruling(matcher, "good.a.org", "64:ff9b::5.5.1.2") == Ruling::denied);
    CHECK(ruling(matcher, "good.a.org", "2002:0505:0102::1") == Ruling::denied);
    CHECK(ruling(matcher, "good.a.org", "2001:db8::1") == Ruling::denied);
    CHECK(ruling(matcher, "good.a.org", "5.6.1.2") == Ruling::allowed);
    CHECK(ruling(matcher, "good.a.org", "64:ff9b::5.6.1.2") == Ruling::allowed);
    CHECK(by(matcher.rule_for(address("5.5.1.2"), 443)) == "no rule");
    CHECK(by(matcher.rule_for(address("5.6.1.2"), 443)) == "5.0.0.0/8 tcp 443");
}

TEST_CASE("a name never leads to what is always denied, to a handle or to a private address")
{
    const GateMatcher matcher(rules_of(R"({"allow":["a.org",
        {"to":"in.org","within":["10.0.0.0/8","127.0.0.0/8","198.19.0.0/16"]}]})"));
    CHECK(ruling(matcher, "a.org", "1.1.1.1") == Ruling::allowed); // the control
    for (const char* const text :
         {"127.0.0.1", "0.0.0.0", "169.254.169.254", "::1", "::", "::ffff:127.0.0.1",
          "64:ff9b::169.254.169.254", "fe80::1", "ff02::1", "198.19.0.1", "198.18.0.1",
          "64:ff9b::198.19.0.1", "2002:7f00:0001::"}) {
        CHECK_MESSAGE(ruling(matcher, "a.org", text) == Ruling::always_denied, text);
        CHECK_MESSAGE(ruling(matcher, "in.org", text) == Ruling::always_denied, text);
    }
    for (const char* const text :
         {"192.168.1.1", "172.16.0.1", "100.64.0.1", "fd00::1", "64:ff9b::192.168.1.1"}) {
        CHECK_MESSAGE(ruling(matcher, "a.org", text) == Ruling::not_listed, text);
        CHECK_MESSAGE(ruling(matcher, "in.org", text) == Ruling::not_listed, text);
    }
    CHECK(ruling(matcher, "a.org", "10.1.2.3") == Ruling::not_listed);
    CHECK(ruling(matcher, "in.org", "10.1.2.3") == Ruling::allowed);
    CHECK(ruling(matcher, "in.org", "1.1.1.1") == Ruling::allowed);
}

TEST_CASE("an address rule opens its range, without its exceptions, at its ports")
{
    const GateMatcher matcher(rules_of(R"({"allow":[{"to":"10.1.0.0/16","ports":[{"port":5432,
        "endPort":5439}],"except":["10.1.9.0/24"]},"0.0.0.0/0"]})"));
    CHECK(by(matcher.rule_for(address("10.1.2.3"), 5435)) ==
          "10.1.0.0/16 tcp 5432-5439 except 10.1.9.0/24");
    CHECK(by(matcher.rule_for(address("10.1.2.3"), 5440)) == "no rule");
    CHECK(by(matcher.rule_for(address("10.1.9.3"), 5435)) == "no rule");
    CHECK(by(matcher.rule_for(address("9.9.9.9"), 443)) == "0.0.0.0/0 tcp 443");
    CHECK(by(matcher.rule_for(address("169.254.169.254"), 443)) == "no rule");
    CHECK(by(matcher.rule_for(address("198.19.1.0"), 443)) == "no rule");
}

TEST_CASE("inside, packets may go to the handles at the ports of any name, and to address rules")
{
    const Network network = gate_network(rules_of(R"({"allow":["a.org",{"to":"*.b.org",
        "ports":[{"port":22},{"port":53,"protocol":"UDP"}]},"c.org",{"to":"10.1.0.0/16",
        "ports":[{"port":5432},{"port":53,"protocol":"UDP"}],"except":["10.1.9.0/24"]},
        {"to":"gone.org","ports":[{"port":7}]}],"deny":["10.1.8.0/24","gone.org"]})"));
    const auto lines = [](const std::vector<Reach>& reaches) {
        std::vector<std::string> text;
        for (const Reach& reach : reaches)
            text.push_back(reach.text());
        return text;
    };
    CHECK(lines(network.allow) == std::vector<std::string>{"198.19.0.0/16 tcp 443",
                                                           "198.19.0.0/16 tcp 22",
                                                           "10.1.0.0/16 tcp 5432"});
    CHECK(lines(network.deny) == std::vector<std::string>{"10.1.9.0/24 tcp 5432",
                                                          "10.1.8.0/24 tcp 1-65535",
                                                          "10.1.8.0/24 udp 1-65535"});
    CHECK(dotted(lo_address(address("198.19.0.0/16"))) == "198.19.0.1");
    CHECK(dotted(capture_address(address("10.0.0.0/8"))) == "10.0.0.2");
}

} // namespace anchorhold::rules::gate_rules_test
