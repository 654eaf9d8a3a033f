// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/reachability.hpp"

#include <doctest/doctest.h>

namespace anchorhold::reachability_test {

using namespace rules;
namespace {

AllowRule question(std::string_view text)
{
    const auto read = parse_question(text);
    REQUIRE_MESSAGE(read.has_value(), read.error().what);
    return *read;
}

Request asking(Egress egress)
{
    Request request;
    request.asked = request.egress = egress;
    request.endpoints = {{"model", *Port::from(8080, Code::invalid_request),
                          *parse_target("unix:/run/b/x/s", Code::invalid_request)}};
    request.bounded = {false};
    return request;
}

Decision holds(Posture posture)
{
    Decision decision;
    decision.posture = posture;
    return decision;
}

Reachability asked(std::string_view text)
{
    Request request = asking(Egress::allowlist);
    request.allow = *parse_allow("x.org, 192.0.2.0/24:80, gone.org");
    Network network;
    network.names = {{"x.org", {"203.0.113.1", "10.0.0.1", "127.0.0.1"}}, {"gone.org", {}}};
    network.deny = {{*Prefix::parse("192.0.2.9", Code::invalid_request), {80, 80, false}}};
    compile(request.allow, {}, network);
    return reachability(request, holds(Posture::filtered), network, question(text));
}

} // namespace

TEST_CASE("a question is one address or name at one port")
{
    CHECK(question("x.org").ports == std::vector<PortRange>{{443, 443, false}});
    CHECK(question("10.1.2.3:5432").ports == std::vector<PortRange>{{5432, 5432, false}});
    CHECK(text_of(question("[2001:db8::1]:80").to) == "2001:db8::1/128");
    CHECK(text_of(question("2001:db8::1").to) == "2001:db8::1/128");
    for (const std::string_view text : {"x.org, y.org", "*.x.org", "10.0.0.0/8"})
        CHECK(parse_question(text).error().what ==
              in_quotes(text) + " is not one address or name, with :PORT or without");
    CHECK(!parse_question(""));
    CHECK(!parse_question("x.org:0"));
    CHECK(!parse_question("X.org"));
}

TEST_CASE("an address is answered with the rule that decides")
{
    CHECK(asked("192.0.2.1:80") ==
          Reachability{true, {"reachable: 192.0.2.1 tcp 80, allowed by 192.0.2.0/24 tcp 80"}});
    CHECK(asked("192.0.2.9:80") ==
          Reachability{false, {"refused: 192.0.2.9 tcp 80, denied by 192.0.2.9/32 tcp 80"}});
    CHECK(asked("192.0.2.1:81") ==
          Reachability{false, {"refused: 192.0.2.1 tcp 81, no rule allows it"}});
    CHECK(asked("169.254.169.254:80") ==
          Reachability{false, {"refused: 169.254.169.254 tcp 80, always denied: 169.254.0.0/16"}});
    CHECK(asked("10.0.0.1") ==
          Reachability{false, {"refused: 10.0.0.1 tcp 443, no rule allows it"}});
    CHECK(asked("203.0.113.1").reachable); // a pinned name has this address
}

TEST_CASE("a name is answered address by address, and reachable when one of them is")
{
    CHECK(asked("x.org") ==
          Reachability{
              true,
              {"reachable: x.org (203.0.113.1) tcp 443, allowed by 203.0.113.1/32 tcp 443",
               "refused: x.org (10.0.0.1) tcp 443, a name does not lead to a private address",
               "refused: x.org (127.0.0.1) tcp 443, always denied: 127.0.0.0/8"}});
    CHECK(!asked("x.org:80").reachable);
    CHECK(asked("y.org") ==
          Reachability{false,
                       {"refused: y.org tcp 443, a name that is not listed resolves to nothing"}});
    CHECK(asked("gone.org") ==
          Reachability{false, {"refused: gone.org tcp 443, it has no address now"}});
}

TEST_CASE("of a run with a gate the gate's own matcher is asked")
{
    const auto gated = [](std::string_view text) {
        const auto rules = read_gate_rules(R"({"allow":["**.x.org","192.0.2.0/24:80",
            "10.0.0.0/8:1"],"deny":["no.x.org","192.0.2.9"]})");
        REQUIRE(rules);
        Decision decision = holds(Posture::filtered);
        decision.technique = Technique::gate;
        const Reachability found =
            gate_reachability(asking(Egress::allowlist), decision, *rules,
                              {*Prefix::parse("192.0.2.7", Code::invalid_request)}, question(text));
        REQUIRE(found.lines.size() == 1);
        CHECK(found.reachable == found.lines.front().starts_with("reachable"));
        return found.lines.front();
    };
    CHECK(gated("a.b.x.org") == "reachable: a.b.x.org tcp 443, allowed by **.x.org tcp 443, where "
                                "it leads when it is dialled");
    CHECK(gated("a.x.org:22") == "refused: a.x.org tcp 22, no rule allows it at this port");
    for (const std::string name : {"x.org", "no.x.org", "y.org"})
        CHECK(gated(name) ==
              "refused: " + name + " tcp 443, a name that is not listed resolves to nothing");
    CHECK(gated("192.0.2.1:80") == "reachable: 192.0.2.1 tcp 80, allowed by 192.0.2.0/24 tcp 80");
    CHECK(gated("10.2.3.4:1") == "reachable: 10.2.3.4 tcp 1, allowed by 10.0.0.0/8 tcp 1");
    CHECK(gated("192.0.2.1:81") == "refused: 192.0.2.1 tcp 81, no rule allows it");
    CHECK(gated("192.0.2.9:80").starts_with("refused: 192.0.2.9 tcp 80, denied by 192.0.2.9/32"));
    CHECK(gated("192.0.2.7:80") == "refused: 192.0.2.7 tcp 80, always denied: 192.0.2.7/32");
    CHECK(gated("198.19.0.9") == "refused: 198.19.0.9 tcp 443, always denied: 198.19.0.0/16");
    CHECK(gated("169.254.169.254:80").starts_with("refused: 169.254.169.254 tcp 80, always"));
    CHECK(gated("127.0.0.1:8080") == "reachable: 127.0.0.1 tcp 8080, endpoint model");
}

TEST_CASE("a rule by which nothing is reachable is named, with the reason that check gives")
{
    const auto without = [](std::string_view allow, std::string_view deny = "") {
        Network network;
        network.names = {{"x.org", {"10.0.0.1", "203.0.113.1"}},
                         {"gone.org", {}},
                         {"inner.org", {"10.0.0.1"}},
                         {"meta.org", {"169.254.169.254"}}};
        network.node = {*Prefix::parse("198.51.100.7", Code::invalid_request)};
        const auto rules = *parse_allow(allow);
        compile(rules, deny.empty() ? std::vector<AllowRule>() : *parse_allow(deny), network);
        return rules_without_reach(network, rules);
    };
    using Sentences = std::vector<std::string>;
    CHECK(without("x.org, 192.0.2.0/24, 0.0.0.0/0, 169.254.0.0/15") == Sentences());
    CHECK(without("169.254.169.254:80, 198.51.100.7, 198.51.100.0/24") ==
          Sentences{"allow 169.254.169.254/32 tcp 80 reaches nothing: always denied: "
                    "169.254.0.0/16",
                    "allow 198.51.100.7/32 tcp 443 reaches nothing: always denied: "
                    "198.51.100.7/32"});
    CHECK(without("gone.org, inner.org, meta.org") ==
          Sentences{"allow gone.org tcp 443 reaches nothing: it has no address now",
                    "allow inner.org tcp 443 reaches nothing: a name does not lead to a private "
                    "address",
                    "allow meta.org tcp 443 reaches nothing: always denied: 169.254.0.0/16"});
    CHECK(without("inner.org:443, 10.0.0.0/8:443") == Sentences()); // the other rule leads there
    CHECK(without("inner.org:443, 10.0.0.0/8:80").size() == 1);
    const Sentences denied{"allow 192.0.2.0/24 tcp 443 reaches nothing: denied by 192.0.2.0/25 "
                           "tcp 443"};
    CHECK(without("192.0.2.0/24", "192.0.2.0/25, 192.0.2.128/25") == denied);
    CHECK(without("192.0.2.0/24", "192.0.2.0/25, 192.0.2.128/26") == Sentences());
    CHECK(without("192.0.2.0/24", "192.0.2.0/25, 192.0.2.128/25:80") == Sentences());
    const std::string ports = R"([{"to": "192.0.2.1", "ports": [{"port": 80, "endPort": 90}]}])";
    const std::string most = R"([{"to": "192.0.2.0/24", "ports": [{"port": 70, "endPort": 89}]}])";
    CHECK(without(ports, most) == Sentences()); // port 90 is left
    CHECK(without(ports, ports).size() == 1);
}

TEST_CASE("without egress only the endpoints are reachable, in the open everything is")
{
    const Request request = asking(Egress::off);
    const Network none;
    for (const Posture posture : {Posture::severed, Posture::relayed, Posture::sealed}) {
        CHECK(reachability(request, holds(posture), none, question("x.org")) ==
              Reachability{false, {"refused: x.org tcp 443, there is no egress"}});
        CHECK(reachability(request, holds(posture), none, question("127.0.0.1:8081")) ==
              Reachability{false, {"refused: 127.0.0.1 tcp 8081, there is no egress"}});
        CHECK(reachability(request, holds(posture), none, question("127.0.0.1:8080")) ==
              Reachability{true, {"reachable: 127.0.0.1 tcp 8080, endpoint model"}});
    }
    CHECK(asked("localhost:8080").reachable);
    CHECK(reachability(request, holds(Posture::open), none, question("x.org:80")) ==
          Reachability{true, {"reachable: x.org tcp 80, egress is open"}});
}

} // namespace anchorhold::reachability_test
