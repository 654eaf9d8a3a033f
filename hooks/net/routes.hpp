// SPDX-License-Identifier: Apache-2.0
// Reads the routes of a namespace: which addresses they take, and whether packets to a container
// would go where they should. Also reads the namespace's own addresses. Pure: it only makes and
// reads messages.
#pragma once

#include "hooks/net/links.hpp"
#include "hooks/state/routed_range.hpp"

#include <optional>
#include <string>

namespace anchorhold::net {

Step list_routes(); // the IPv4 routes of all tables
// Returns the range that a route takes. Returns nullopt for a route that sends nowhere (blackhole,
// unreachable, prohibit, throw) and for one broader than a /8: that is a default route, such as a
// VPN's 0.0.0.0/1.
Result<std::optional<state::RoutedRange>> read_route(const Message& message);

// A routing rule says which table the kernel asks. The kernel tries the rules in the list's order.
struct RoutingRule {
    unsigned table = 0; // 0: the rule does not lead to one table (unreachable, goto, a VRF)
    bool plain = false; // the rule takes every packet and accepts every route found in its table
    friend bool operator==(const RoutingRule&, const RoutingRule&) = default;
};
Step list_routing_rules();
Result<RoutingRule> read_routing_rule(const Message& message);
// Returns the tables whose routes must be listed, because match_route does not show them all. Those
// are the tables that a rule names, without `local` and `main`. Returns nullopt when match_route
// does not even show `local` and `main` with these rules: then all routes must be listed.
std::optional<std::vector<unsigned>> tables_to_list(const std::vector<RoutingRule>& rules);
Step list_routes_of(unsigned table); // ENOENT: there is no such table, so it has no routes

// Asks which route takes the address `to` (host byte order). `local` and `main` hold the routes of
// every run, so they are asked and not listed. To be sent with Netlink::list; the answer is one
// message.
Step match_route(std::uint32_t to);
struct RouteMatch {
    bool known = false; // false: the answer may hide a route of another table, or one behind it
    std::optional<state::RoutedRange> range; // the range that takes the address; nullopt: none
    friend bool operator==(const RouteMatch&, const RouteMatch&) = default;
};
// Reads the answer to match_route. `answers` is an error when the kernel refused: it has no route,
// or one that discards.
RouteMatch read_match(const Result<std::vector<Message>>& answers);

Step list_addresses(); // the IPv4 and IPv6 addresses of all links
// Asks for the addresses of one link. A kernel without strict checks (before 4.20) lists those of
// all links, so is_on() must be asked about each answer.
Step list_addresses_of(unsigned link);
bool is_on(const Message& message, unsigned link); // whether the address is on that link
// Returns the address in the message, or nullopt for a family that is neither IPv4 nor IPv6.
Result<std::optional<rules::Prefix>> read_address(const Message& message);
// Says whether the address is at the host's end of a run's link, and of the pool. There are as many
// of these as there are runs.
bool is_gateway(const Message& message, const rules::Prefix& pool);

// Asks which way a packet would go `from` the host `to` another address (both in host byte order).
// A list of routes would not tell, because rules come before tables. To be asked when the addresses
// are set and the link is up, and sent with Netlink::list; the answer is one message. The answer
// ignores rules by iif or fwmark. With `link`, the question is about a packet that came in over
// that link, and rules by iif count.
Step ask_route(std::uint32_t from, std::uint32_t to, unsigned link = 0);

// Says whether the errno of the kernel's refusal is an answer: there is no route, or one that
// discards. Any other errno means that the question itself failed.
bool is_no_route(int number);

struct RouteAnswer {
    std::uint8_t type = 0; // RTN_*
    unsigned link = 0;     // the index of the link it goes over
    bool hop = false;      // whether it goes through a gateway
    friend bool operator==(const RouteAnswer&, const RouteAnswer&) = default;
};
Result<RouteAnswer> read_answer(const Message& message);
// Refuses a route that does not go straight over the run's own link. `answer` is an error when the
// kernel refused, for example because a route or rule discards.
Status judge_route(const Result<RouteAnswer>& answer, const rules::Subnet& subnet, unsigned link);

} // namespace anchorhold::net
