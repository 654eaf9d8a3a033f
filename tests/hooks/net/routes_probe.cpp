// SPDX-License-Identifier: Apache-2.0
// A program that asks the kernel what the hook asks about links, routes and subnets, one question a
// call. integration/hooks/routes.sh uses it: requests that are only compared prove nothing about
// the kernel that answers them.
#include "hooks/net/netns.hpp"
#include "hooks/net/pool_routes.hpp"
#include "hooks/net/routes.hpp"
#include "hooks/net/veth.hpp"
#include "hooks/state/subnets.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <span>

#include <linux/netlink.h>

using namespace anchorhold;
using namespace anchorhold::net;
using namespace anchorhold::rules;
using namespace anchorhold::state;

namespace {

constexpr std::chrono::seconds patience(10);
constexpr Subnet subnet{0xc6120000}; // 198.18.0.0/30
constexpr const char* generation = "0123456789abcdef";

using Words = std::span<char* const>;
using Answer = Result<std::string>; // the text that is printed

unsigned number(const char* text)
{
    unsigned found = 0;
    const std::string_view digits = text;
    std::from_chars(digits.data(), digits.data() + digits.size(), found);
    return found;
}

Result<Netlink> host()
{
    return Netlink::open(NETLINK_ROUTE, Deadline(patience));
}

Result<unsigned> index_of(Netlink& route, std::string_view name)
{
    AH_TRY(const auto found, route.list(find_link_named(name)));
    if (found.size() != 1)
        return fail(Code::network_setup_failed, std::to_string(found.size()) + " links found");
    AH_TRY(const Link link, read_link(found.front()));
    return link.index;
}

// NAME PID: makes the pair, up and with addresses. Prints "host's index, container's index".
Answer plug(Words words)
{
    const std::string name = words[0];
    AH_TRY(auto route, host());
    AH_TRY(const Netns netns, netns_of(static_cast<pid_t>(number(words[1]))));
    AH_TRY(auto inside, talk_inside(netns, Deadline(patience)));
    AH_CHECK(route.send(make_veth(name, "eth0", netns.fd.get())));
    AH_TRY(const unsigned outer, index_of(route, name));
    AH_TRY(const unsigned inner, index_of(inside.route, "eth0"));
    const std::array within = {
        without_ipv6(inner), add_address(inner, subnet.inside()),
        set_link(Link{.index = inner, .name = "eth0", .kind = "veth", .mac = {}}, Flag::up)};
    AH_CHECK(inside.route.send(within));
    const std::array without = {
        add_address(outer, subnet.gateway()),
        set_link(Link{.index = outer, .name = name, .kind = "veth", .mac = {}}, Flag::up)};
    AH_CHECK(route.send(without));
    const Step uplink = add_default_route(inner, subnet.gateway());
    AH_CHECK(inside.route.send({&uplink, 1}));
    return std::to_string(outer) + " " + std::to_string(inner);
}

// INDEX: prints whether packets to the container go over that link.
Answer ask(Words words)
{
    AH_TRY(auto route, host());
    const auto answers = route.list(ask_route(subnet.gateway(), subnet.inside()));
    Result<RouteAnswer> answer = fail(Code::network_setup_failed, "not one answer");
    if (!answers)
        answer = std::unexpected(answers.error());
    else if (answers->size() == 1)
        answer = read_answer(answers->front());
    AH_CHECK(judge_route(answer, subnet, number(words[0])));
    return "good";
}

Result<std::vector<RoutedRange>> ranges()
{
    AH_TRY(auto route, host());
    AH_TRY(const auto messages, route.list(list_routes()));
    std::vector<RoutedRange> found;
    for (const Message& message : messages) {
        AH_TRY(const auto range, read_route(message));
        if (range)
            found.push_back(*range);
    }
    return found;
}

// Prints the ranges that the host's routes take.
Answer routed(Words)
{
    AH_TRY(const auto found, ranges());
    std::string text;
    for (const RoutedRange& range : found)
        text += range.text() + "@" + std::to_string(range.link) + "\n";
    return text;
}

// Prints the host's own addresses.
Answer addresses(Words)
{
    AH_TRY(auto route, host());
    AH_TRY(const auto messages, route.list(list_addresses()));
    std::string text;
    for (const Message& message : messages) {
        AH_TRY(const auto address, read_address(message));
        text += address ? address->text() + "\n" : "none\n";
    }
    return text;
}

// STATE KEY POOL: prints the subnet that the run gets on this host.
Answer reserve(Words words)
{
    AH_TRY(const StateDir state, StateDir::open(words[0]));
    AH_TRY(const RunKey key, RunKey::parse(words[1]));
    AH_TRY(const Prefix pool, Prefix::parse(words[2], Code::invalid_policy));
    AH_TRY(auto route, host());
    AH_TRY(RoutedHost asked, RoutedHost::open(route));
    const auto routed = [&asked](const Subnet& one) { return asked.touching(one); };
    AH_TRY(const Subnet got, reserve_subnet(state, key, generation, pool, routed));
    return got.text();
}

// NAME: removes that link.
Answer remove(Words words)
{
    AH_TRY(auto route, host());
    const Step step = remove_link_named(words[0]);
    AH_CHECK(route.send({&step, 1}));
    return "removed";
}

struct Verb {
    std::string_view name;
    std::size_t words;
    Answer (*answer)(Words);
};
constexpr std::array verbs = {Verb{"plug", 2, plug},       Verb{"ask", 1, ask},
                              Verb{"routed", 0, routed},   Verb{"addresses", 0, addresses},
                              Verb{"reserve", 3, reserve}, Verb{"remove", 1, remove}};

} // namespace

int main(int count, char** arguments)
{
    const Words words(arguments, static_cast<std::size_t>(count));
    for (const Verb& verb : verbs) {
        if (words.size() != verb.words + 2 || verb.name != words[1])
            continue;
        const Answer answer = verb.answer(words.subspan(2));
        std::puts(answer ? answer->c_str() : answer.error().what.c_str());
        return answer ? 0 : 1;
    }
    return 2;
}
