// SPDX-License-Identifier: Apache-2.0
// The routes of a namespace: which addresses they take, and whether packets to a container would
// go where they should. And the addresses that are its own. Pure: messages out, messages read.
#pragma once

#include "hooks/net/links.hpp"
#include "hooks/state/subnets.hpp"

#include <optional>
#include <string>

namespace anchorhold::net {

Step list_routes(); // IPv4, of all tables
// The range a route takes. Nothing for one that sends nowhere (blackhole, unreachable, prohibit,
// throw) and for one broader than a /8: that is a default, such as a VPN's 0.0.0.0/1.
Result<std::optional<state::RoutedRange>> read_route(const Message& message);

// One of the rules that say which table is asked, in the order of the list.
struct RoutingRule {
    unsigned table = 0; // 0: it does not send to one table (unreachable, goto, a VRF)
    bool plain = false; // for every packet, and whatever is found there
    friend bool operator==(const RoutingRule&, const RoutingRule&) = default;
};
Step list_routing_rules();
Result<RoutingRule> read_routing_rule(const Message& message);
// The tables whose routes must be listed because match_route does not show them all: those that a
// rule names, but for `local` and `main`. Nothing: by these rules not even those two are shown.
std::optional<std::vector<unsigned>> tables_to_list(const std::vector<RoutingRule>& rules);
Step list_routes_of(unsigned table); // ENOENT: there is no such table, which is empty then

// Which route takes an address? `local` and `main` hold every run's, and are not listed for that.
// Sent with Netlink::list, which gives the one answer.
Step match_route(std::uint32_t to);
struct RouteMatch {
    bool known = false; // what it hides, from other tables or behind a null route, is not
    std::optional<state::RoutedRange> range;
    friend bool operator==(const RouteMatch&, const RouteMatch&) = default;
};
// `answers` is an error when the kernel refused: for no route, or for one that discards.
RouteMatch read_match(const Result<std::vector<Message>>& answers);

Step list_addresses(); // IPv4 and IPv6, of all links
// A kernel without strict checks (before 4.20) lists those of all links for it.
Step list_addresses_of(unsigned link);
bool is_on(const Message& message, unsigned link); // an address of that link
// Nothing for a family we do not know.
Result<std::optional<rules::Prefix>> read_address(const Message& message);
// The host's end of a run's link, at an address of that pool: there are as many as runs.
bool is_gateway(const Message& message, const rules::Prefix& pool);

// How would a packet of the host's own travel `from` here `to` there (host byte order)? A list of
// routes does not tell: rules come before tables. Asked when the addresses are set and the link is
// up; sent with Netlink::list, which gives the one answer. Rules by iif or fwmark are not seen.
// With `link`, of a packet that came in over it (a rule by iif is seen then).
Step ask_route(std::uint32_t from, std::uint32_t to, unsigned link = 0);

// Is the kernel's refusal an answer - none, or one that discards - and no failure to ask?
bool is_no_route(int number);

struct RouteAnswer {
    std::uint8_t type = 0; // RTN_*
    unsigned link = 0;     // index
    bool hop = false;      // through a gateway
    friend bool operator==(const RouteAnswer&, const RouteAnswer&) = default;
};
Result<RouteAnswer> read_answer(const Message& message);
// Good only if it goes straight over the run's own link. `answer` is an error when the kernel
// refused: a route or rule that discards is one.
Status judge_route(const Result<RouteAnswer>& answer, const rules::Subnet& subnet, unsigned link);

} // namespace anchorhold::net
