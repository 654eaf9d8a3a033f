// SPDX-License-Identifier: Apache-2.0
// The algebra of allow lists, compared with a model that is only the definition: a small universe
// of destinations and ports, and for each point whether a list admits it.
#include "schema/rules/gate_rules.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace anchorhold::allow_model_test {

using namespace rules;
namespace {

Destination to(std::string_view text)
{
    return *parse_destination(text, Code::invalid_request);
}

struct Point {
    Destination to;
    std::uint16_t port;
    bool udp;
};

// Returns all of 10.0.0.0/30, and names with zero to two labels below x.
std::vector<Point> universe()
{
    std::vector<Point> points;
    for (const std::string_view at :
         {"10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3", "x", "a.x", "b.x", "c.a.x"})
        for (std::uint16_t port = 1; port <= 4; ++port)
            for (const bool udp : {false, true})
                points.push_back({to(at), port, udp});
    return points;
}

bool admits(const std::vector<AllowRule>& rules, const Point& point)
{
    return std::ranges::any_of(rules, [&](const AllowRule& rule) {
        const bool excepted = std::ranges::any_of(
            rule.except, [&](const Prefix& hole) { return covers(hole, point.to); });
        const bool port = std::ranges::any_of(rule.ports, [&](const PortRange& range) {
            return range.udp == point.udp && range.first <= point.port && point.port <= range.last;
        });
        return covers(rule.to, point.to) && port && !excepted;
    });
}

class Dice {
public:
    AllowRule rule(bool addresses_only)
    {
        static const std::vector<std::string_view> ranges{"10.0.0.0/30", "10.0.0.0/31",
                                                          "10.0.0.2/31", "10.0.0.1", "10.0.0.2"};
        static const std::vector<std::string_view> names{"x", "a.x", "*.x", "**.x", "*.a.x"};
        const bool address = addresses_only || roll(2) == 0;
        AllowRule made{to(address ? ranges[roll(5)] : names[roll(5)]), {}, {}};
        for (std::size_t i = 0; i <= roll(2); ++i) {
            const auto first = static_cast<std::uint16_t>(1 + roll(4));
            const auto last = static_cast<std::uint16_t>(first + roll(5U - first));
            made.ports.push_back({first, last, roll(3) == 0});
        }
        const Destination hole = to(ranges[roll(5)]);
        if (roll(2) == 0 && covers(made.to, hole) && made.to != hole)
            made.except.push_back(std::get<Prefix>(hole));
        return made;
    }
    std::vector<AllowRule> list(bool addresses_only = false)
    {
        std::vector<AllowRule> rules;
        for (std::size_t i = 0; i < roll(4); ++i)
            rules.push_back(rule(addresses_only));
        return rules;
    }
    std::vector<AllowRule> deny_list(bool addresses_only = false)
    {
        std::vector<AllowRule> rules = list(addresses_only);
        for (AllowRule& rule : rules)
            rule.except.clear();
        return rules;
    }

private:
    std::size_t roll(std::size_t sides) { return random_() % sides; }
    std::mt19937 random_{20260101};
};

// Returns whether the gate would dial for the point. No name leads to a private address.
bool is_dialled(const GateMatcher& gate, const Point& point)
{
    if (const auto* const address = std::get_if<Prefix>(&point.to))
        return gate.rule_for(*address, point.port) != nullptr;
    const AllowRule* const rule = gate.rule_for(std::get<NamePattern>(point.to), point.port);
    const auto judged = [&](std::string_view at) {
        return gate.judge(*rule, std::get<Prefix>(to(at)), point.port).ruling;
    };
    REQUIRE((rule == nullptr || judged("10.0.0.3") != Ruling::allowed));
    return rule != nullptr && judged("192.0.2.1") == Ruling::allowed;
}

} // namespace

TEST_CASE("an intersection admits exactly what both lists admit")
{
    const std::vector<Point> points = universe();
    Dice dice;
    std::size_t admitted = 0;
    for (int round = 0; round < 2000; ++round) {
        const auto one = dice.list();
        const auto other = dice.list();
        const auto both = intersect(one, other);
        for (const Point& point : points) {
            const bool expected = admits(one, point) && admits(other, point);
            REQUIRE(admits(both, point) == expected);
            admitted += expected ? 1 : 0;
        }
    }
    CHECK(admitted > 500); // the model has admitted something
}

TEST_CASE("what is dropped as denied was denied, and a list of ranges is empty when all of it is")
{
    const std::vector<Point> points = universe();
    Dice dice;
    std::size_t emptied = 0;
    for (int round = 0; round < 4000; ++round) {
        const bool addresses_only = round % 2 == 0;
        const auto rules = dice.list(addresses_only);
        const auto deny = dice.deny_list(addresses_only);
        const auto kept = drop_denied(rules, deny);
        bool any = false;
        for (const Point& point : points) {
            const bool wanted = admits(rules, point) && !admits(deny, point);
            REQUIRE((admits(kept, point) && !admits(deny, point)) == wanted);
            any = any || wanted;
        }
        if (addresses_only)
            REQUIRE(kept.empty() == !any);
        emptied += !rules.empty() && kept.empty() ? 1 : 0;
    }
    CHECK(emptied > 50);
}

TEST_CASE("a gate dials exactly what both lists admit over tcp and nobody denies")
{
    const std::vector<Point> points = universe();
    Dice dice;
    std::size_t dialled = 0;
    for (int round = 0; round < 1000; ++round) {
        const auto one = dice.list();
        const auto other = dice.list();
        GateRules rules;
        rules.allow = intersect(one, other);
        rules.deny = dice.deny_list();
        const auto read = read_gate_rules(to_json(rules)); // as a record has them
        REQUIRE(read);
        const GateMatcher gate(*read);
        for (const Point& point : points) {
            if (point.udp)
                continue;
            const bool expected =
                admits(one, point) && admits(other, point) && !admits(rules.deny, point);
            REQUIRE(is_dialled(gate, point) == expected);
            dialled += expected ? 1 : 0;
        }
    }
    CHECK(dialled > 200);
}

} // namespace anchorhold::allow_model_test
