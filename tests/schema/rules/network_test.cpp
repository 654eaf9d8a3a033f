// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/always_denied.hpp"
#include "schema/rules/network.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

namespace anchorhold::network_test {

using namespace rules;
namespace {

Prefix prefix(std::string_view text)
{
    const auto read = Prefix::parse(text, Code::invalid_request);
    REQUIRE_MESSAGE(read.has_value(), text);
    return *read;
}

std::vector<AllowRule> rules(std::string_view text)
{
    const auto read = parse_allow(text);
    REQUIRE_MESSAGE(read.has_value(), read.error().what);
    return *read;
}

std::vector<AllowRule> deny_rules(std::string_view array)
{
    const auto document = json::Document::parse(std::string(array));
    REQUIRE(document);
    const auto read = read_rules(document->root(), ListKind::deny);
    REQUIRE_MESSAGE(read.has_value(), read.error().what);
    return *read;
}

Network compiled(std::string_view allow, std::string_view deny = "[]",
                 std::vector<PinnedName> names = {})
{
    Network network;
    network.names = std::move(names);
    compile(rules(allow), deny_rules(deny), network);
    return network;
}

Judgement judged(const Network& network, std::string_view address, std::uint16_t port,
                 bool udp = false)
{
    return judge(network, prefix(address), port, udp);
}

std::vector<std::string> texts(const std::vector<Reach>& reaches)
{
    std::vector<std::string> list;
    for (const Reach& reach : reaches)
        list.push_back(reach.text());
    return list;
}

// Returns the first and the last address of a range.
std::vector<std::string> ends(const Prefix& range)
{
    std::string text = range.text();
    text.resize(text.rfind('/'));
    auto bytes = range.bytes();
    const unsigned bits = range.is_v4() ? 32 : 128;
    for (unsigned bit = range.length(); bit < bits; ++bit)
        bytes[bit / 8] |= static_cast<std::uint8_t>(0x80U >> (bit % 8));
    std::string last;
    for (unsigned i = 0; i < bits / 8; i += range.is_v4() ? 1 : 2) {
        std::array<char, 8> part{};
        if (range.is_v4())
            std::snprintf(part.data(), part.size(), "%u", bytes[i]);
        else
            std::snprintf(part.data(), part.size(), "%02x%02x", bytes[i], bytes[i + 1]);
        last += (last.empty() ? "" : range.is_v4() ? "." : ":") + std::string(part.data());
    }
    return {text, last};
}

// The addresses that no list may allow, written out a second time: a slip in the product's own
// table would not show if it were compared with itself.
constexpr std::array never{
    "0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4", "::", "::1",
    "fe80::/10", "ff00::/8", "169.254.169.254", "100.100.100.200", "168.63.129.16", "192.0.0.192",
    "fd00:ec2::254", "fd20:ce::254", "fd00:c1::a9fe:a9fe", "fd00:42::42", "::/96",
    "::ffff:0:0:0/96", "64:ff9b:1::/48", "2001::/32", "fec0::/10", "192.0.0.0/24", "fd00:ec2::/32",
    "198.18.0.0/16",
    // v4 inside 64:ff9b::/96 and 2002::/16
    "64:ff9b::127.0.0.0/104", "64:ff9b::169.254.169.254", "64:ff9b::240.0.0.0/100",
    "64:ff9b::198.18.0.0/112", "64:ff9b::168.63.129.16", "2002:7f00::/24", "2002:a9fe:a9fe::/48",
    "2002:e000::/20", "2002:6464:64c8::/48", "2002:c612::/32", "::ffff:127.0.0.1",
    "::ffff:169.254.169.254"};

} // namespace

TEST_CASE("nothing makes an always-denied address allowed: no rule, no name, no port")
{
    std::size_t asked = 0;
    for (const std::string_view range : never) {
        for (const std::string& address : ends(prefix(range))) {
            CAPTURE(address);
            Network network = compiled("name.org", "[]", {{"name.org", {address}}});
            CHECK(network.allow.empty());
            // One rule is for exactly that address, the others are for everything.
            const std::vector<PortRange> every{{1, 65535, false}, {1, 65535, true}};
            compile({{prefix(address), every, {}},
                     {prefix("0.0.0.0/0"), every, {}},
                     {prefix("::/0"), every, {}}},
                    {}, network);
            for (const int port : {1, 53, 80, 443, 65535})
                for (const bool udp : {false, true}) {
                    ++asked;
                    CHECK(judged(network, address, static_cast<std::uint16_t>(port), udp).ruling ==
                          Ruling::always_denied);
                }
        }
    }
    CHECK(asked == never.size() * 2 * 5 * 2);
}

TEST_CASE("what lies just beside an always-denied range is allowed by its rule")
{
    const Network network = compiled("0.0.0.0/0, ::/0");
    for (const std::string_view address : {"1.0.0.0",         "126.255.255.255", "128.0.0.0",
                                           "169.253.255.255", "169.255.0.0",     "223.255.255.255",
                                           "192.0.1.0",       "168.63.129.15",   "168.63.129.17",
                                           "100.100.100.199", "100.100.100.201", "198.17.255.255",
                                           "198.19.0.0",      "::1:0:0",         "64:ff9b::8.8.8.8",
                                           "64:ff9b:2::",     "2001:1::",        "2002:808:808::1",
                                           "fe7f::",          "fd00:ec1::",      "fd20:ce::253"})
        CHECK_MESSAGE(judged(network, address, 443).ruling == Ruling::allowed, address);
}

TEST_CASE("the always-denied ranges lie in one another nowhere, as a kernel's set wants them")
{
    for (const std::string_view pool : {"198.18.0.0/16", "10.0.0.0/8", "192.0.0.0/23"}) {
        const std::vector<Prefix> ranges = always_denied(prefix(pool));
        CHECK(is_covered(prefix(pool), ranges));
        for (std::size_t i = 0; i < ranges.size(); ++i)
            for (std::size_t j = 0; j < ranges.size(); ++j)
                CHECK((i == j || !ranges[i].contains(ranges[j])));
    }
}

TEST_CASE("the node's own addresses are denied like the always-denied ones")
{
    Network network = compiled("192.0.2.0/24, 2001:db8::/32");
    network.node = {prefix("192.0.2.7"), prefix("2001:db8::7")};
    CHECK(judged(network, "192.0.2.7", 443) == Judgement{Ruling::always_denied, "192.0.2.7/32"});
    CHECK(judged(network, "2001:db8::7", 443) ==
          Judgement{Ruling::always_denied, "2001:db8::7/128"});
    network.delivered = {prefix("192.0.2.255")}; // and what else the node delivers to itself
    CHECK(judged(network, "192.0.2.255", 443) ==
          Judgement{Ruling::always_denied, "192.0.2.255/32"});
    CHECK(judged(network, "192.0.2.8", 443) == Judgement{Ruling::allowed, "192.0.2.0/24 tcp 443"});
}

TEST_CASE("the pool is what the policy says, and its default is nothing special beside it")
{
    Network network = compiled("198.18.0.0/16, 10.0.0.0/8");
    network.pool = prefix("10.9.0.0/16");
    CHECK(judged(network, "198.18.0.1", 443).ruling == Ruling::allowed);
    CHECK(judged(network, "10.9.0.1", 443) == Judgement{Ruling::always_denied, "10.9.0.0/16"});
    CHECK(judged(network, "10.8.0.1", 443).ruling == Ruling::allowed);
}

TEST_CASE("deny wins over allow: a rule's except and the policy's list, at their ports")
{
    const Network network =
        compiled(R"([{"to":"10.1.0.0/16","ports":[{"port":5432,"endPort":5439}],
                      "except":["10.1.9.0/24"]}, {"to":"10.1.9.9","ports":[{"port":5432}]},
                     {"to":"10.2.0.0/16","ports":[{"port":53,"protocol":"UDP"},{"port":80}]}])",
                 R"([{"to":"10.2.3.0/24","ports":[{"port":80}]}, "10.2.4.0/24"])");
    CHECK(texts(network.allow) ==
          std::vector<std::string>{"10.1.0.0/16 tcp 5432-5439", "10.1.9.9/32 tcp 5432",
                                   "10.2.0.0/16 udp 53", "10.2.0.0/16 tcp 80"});
    CHECK(texts(network.deny) ==
          std::vector<std::string>{"10.1.9.0/24 tcp 5432-5439", "10.2.3.0/24 tcp 80",
                                   "10.2.3.0/24 udp 80", "10.2.4.0/24 tcp 1-65535",
                                   "10.2.4.0/24 udp 1-65535"});
    CHECK(judged(network, "10.1.9.9", 5432) ==
          Judgement{Ruling::denied, "10.1.9.0/24 tcp 5432-5439"});
    CHECK(judged(network, "10.1.8.9", 5432) ==
          Judgement{Ruling::allowed, "10.1.0.0/16 tcp 5432-5439"});
    CHECK(judged(network, "10.2.3.1", 80) == Judgement{Ruling::denied, "10.2.3.0/24 tcp 80"});
    CHECK(judged(network, "10.2.3.1", 53, true) ==
          Judgement{Ruling::allowed, "10.2.0.0/16 udp 53"});
    CHECK(judged(network, "10.2.4.1", 53, true).ruling == Ruling::denied);
}

TEST_CASE("port exact: of all 65536 ports and both protocols, the listed ones alone")
{
    const Network network = compiled(R"([{"to":"192.0.2.1","ports":[{"port":443},
        {"port":8000,"endPort":8002},{"port":53,"protocol":"UDP"}]}])");
    std::set<std::pair<unsigned, bool>> open;
    for (unsigned port = 0; port < 65536; ++port)
        for (const bool udp : {false, true})
            if (judged(network, "192.0.2.1", static_cast<std::uint16_t>(port), udp).ruling ==
                Ruling::allowed)
                open.insert({port, udp});
    CHECK(open == std::set<std::pair<unsigned, bool>>{
                      {53, true}, {443, false}, {8000, false}, {8001, false}, {8002, false}});
    CHECK(judged(network, "192.0.2.2", 443) == Judgement{});
    CHECK(judged(network, "2001:db8::1", 443) == Judgement{});
}

TEST_CASE("a name reaches what it was pinned to, private addresses by an address rule alone")
{
    const std::vector<PinnedName> names{
        {"x.org",
         {"192.0.2.1", "2001:db8::1", "10.0.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1",
          "fd12::1", "64:ff9b::10.0.0.1", "2002:c0a8:1::1"}},
        {"unasked.org", {"192.0.2.99"}}};
    const Network network = compiled("x.org:80, missing.org, *.org", "[]", names);
    CHECK(texts(network.allow) ==
          std::vector<std::string>{"192.0.2.1/32 tcp 80", "2001:db8::1/128 tcp 80"});
    CHECK(judged(network, "10.0.0.1", 80) == Judgement{});
    CHECK(judged(network, "192.0.2.99", 443) == Judgement{});
    CHECK(judged(compiled("10.0.0.1:80"), "10.0.0.1", 80).ruling == Ruling::allowed);
}

TEST_CASE("a denied name denies the pinned addresses it covers")
{
    const std::vector<PinnedName> names{{"a.x.org", {"192.0.2.1"}}, {"y.org", {"192.0.2.2"}}};
    const Network network =
        compiled("a.x.org:80, a.x.org, y.org", R"(["*.x.org:80", "z.org"])", names);
    CHECK(texts(network.deny) ==
          std::vector<std::string>{"192.0.2.1/32 tcp 80", "192.0.2.1/32 udp 80"});
    CHECK(judged(network, "192.0.2.1", 80).ruling == Ruling::denied);
    CHECK(judged(network, "192.0.2.1", 443).ruling == Ruling::allowed);
    CHECK(judged(network, "192.0.2.2", 443).ruling == Ruling::allowed);
}

TEST_CASE("a range is allowed only where every address of it is")
{
    const Network network = compiled("192.0.2.0/25, 203.0.113.0/24", R"(["203.0.113.128/25"])");
    CHECK(judged(network, "192.0.2.0/26", 443).ruling == Ruling::allowed);
    CHECK(judged(network, "192.0.2.0/24", 443).ruling == Ruling::not_listed);
    CHECK(judged(network, "203.0.113.0/24", 443).ruling == Ruling::denied);
    CHECK(judged(network, "0.0.0.0/0", 443).ruling == Ruling::always_denied);
}

TEST_CASE("a subnet is written as its /30 and read back, nothing else is one")
{
    const Subnet subnet{0xc6120104};
    CHECK(subnet.text() == "198.18.1.4/30");
    CHECK(subnet.gateway_text() == "198.18.1.5");
    CHECK(subnet.inside_text() == "198.18.1.6");
    CHECK(*Subnet::parse("198.18.1.4/30", Code::invalid_request) == subnet);
    CHECK(*Subnet::parse("255.255.255.252/30", Code::invalid_request) == Subnet{0xfffffffc});
    for (const std::string_view text : {"198.18.1.5/30", "198.18.1.4", "198.18.1.4/29",
                                        "198.18.1.4/31", "2001:db8::/30", "", "198.18.1.4/30 "})
        CHECK_MESSAGE(!Subnet::parse(text, Code::invalid_request), text);
    CHECK(Subnet::parse("198.18.1.0/29", Code::invalid_policy).error().what ==
          "\"198.18.1.0/29\" is not a /30 of IPv4");
}

TEST_CASE("a link is called after its run, and the name fits the kernel's 15 bytes")
{
    CHECK(link_name("0123456789ab") == "ah0123456789ab");
}

} // namespace anchorhold::network_test
