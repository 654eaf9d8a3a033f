// SPDX-License-Identifier: Apache-2.0
#include "hooks/reach_probe.hpp"

#include "hooks/net/conntrack.hpp"
#include "hooks/net/routes.hpp"
#include "hooks/nft/host_shared.hpp"
#include "hooks/nft/ruleset_text.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <optional>
#include <poll.h>
#include <sys/socket.h>

namespace anchorhold {
namespace {

// The time to wait in each try. A link that has just come up drops packets until the kernel's
// linkwatch has seen it. TCP would send its first packet again only after a whole second. So a new
// connection is begun instead, and each try waits longer.
constexpr std::array<std::chrono::milliseconds, 6> bounds = {
    std::chrono::milliseconds(50),  std::chrono::milliseconds(100),
    std::chrono::milliseconds(200), std::chrono::milliseconds(400),
    std::chrono::milliseconds(800), std::chrono::milliseconds(1500)};

// A tcp destination over IPv4. Address and port are in host byte order.
struct Place {
    std::uint32_t address = 0;
    std::uint16_t port = 0;
};

// Begins to connect. Returns 0 when it is connected, EINPROGRESS when it is on its way, or another
// errno.
int begin_connection(int socket, const Place& place)
{
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(place.port);
    to.sin_addr.s_addr = htonl(place.address);
    return ::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 ? 0 : errno;
}

// Waits for the connection. Returns 0, its errno, or ETIMEDOUT when nobody answered within `bound`.
int await_connection(int socket, std::chrono::milliseconds bound)
{
    pollfd event = {socket, POLLOUT, 0};
    if (::poll(&event, 1, static_cast<int>(bound.count())) != 1)
        return ETIMEDOUT;
    int number = 0;
    socklen_t size = sizeof number;
    if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &number, &size) != 0)
        return errno;
    return number;
}

Result<int> ask_port(const net::Netns& netns, const Place& place, const state::Deadline& deadline)
{
    int number = ETIMEDOUT;
    for (const std::chrono::milliseconds bound : bounds) {
        AH_TRY(const UniqueFd socket, net::socket_inside(netns), "ask for the broker from inside");
        number = begin_connection(socket.get(), place);
        if (number == EINPROGRESS)
            number = await_connection(socket.get(), std::min(bound, deadline.left()));
        if (number != ETIMEDOUT)
            break;
    }
    return number;
}

std::string tables_of_others(const state::Deadline& deadline)
{
    auto nftables = net::Netlink::open(NETLINK_NETFILTER, deadline);
    const auto rules = nftables ? nft::ask_all(*nftables, nft::shared_table())
                                : Result<nft::Ruleset>(nft::Ruleset());
    std::string names;
    for (const std::string& name : rules ? rules->others : std::vector<std::string>()) {
        if (!name.starts_with("netdev anchorhold-"))
            names += (names.empty() ? "" : ", ") + name;
    }
    return names.empty() ? "none is listed" : "tables: " + names;
}

std::unexpected<Error> dropped(const Place& place, int number, const std::string& hook,
                               const state::Deadline& deadline)
{
    const std::string doing =
        "tcp from inside to " + rules::dotted(place.address) + ":" + std::to_string(place.port);
    return fail(Code::network_setup_failed, system_error(doing, number).what +
                                                "; another firewall drops it on the host's hook " +
                                                hook + " (" + tables_of_others(deadline) +
                                                "), let links ah* in");
}

std::uint16_t likely_port(const rules::PortRange& ports)
{
    for (const std::uint16_t port : {std::uint16_t{443}, std::uint16_t{80}}) {
        if (ports.first <= port && port <= ports.last)
            return port;
    }
    return ports.first;
}

// Returns the first few tcp destinations of the allow list, single addresses before ranges. Looks
// at the first 64 entries only, because a list may be long.
std::vector<Place> places_to_try(const rules::Network& network)
{
    constexpr std::size_t most_looked_at = 64;
    constexpr std::size_t most = 4;
    std::vector<Place> places;
    const auto end = network.allow.begin() +
                     static_cast<std::ptrdiff_t>(std::min(network.allow.size(), most_looked_at));
    for (const bool single : {true, false}) {
        for (auto reach = network.allow.begin(); reach != end && places.size() < most; ++reach) {
            if (!reach->to.is_v4() || reach->ports.udp || reach->to.is_single() != single)
                continue;
            const std::uint32_t base = state::RoutedRange::of(reach->to).base;
            const Place place{single ? base : base + 1, likely_port(reach->ports)};
            const auto to =
                rules::Prefix::parse(rules::dotted(place.address), Code::network_setup_failed);
            if (to &&
                rules::judge(network, *to, place.port, false).ruling == rules::Ruling::allowed)
                places.push_back(place);
        }
    }
    return places;
}

// Says whether the host has a route for the container's packets. Rules by source address and by
// link count too.
Result<bool> has_route(net::Netlink& route, const rules::Network& network, const Place& place)
{
    const std::uint32_t inside = network.subnet.value_or(rules::Subnet()).inside();
    const auto answers = route.list(net::ask_route(inside, place.address, network.link));
    if (!answers && (net::is_no_route(answers.error().number) || answers.error().number == EXDEV))
        return false;
    AH_CHECK(answers);
    if (answers->empty())
        return false;
    AH_TRY(const net::RouteAnswer answer, net::read_answer(answers->front()));
    return answer.type == RTN_UNICAST;
}

struct Attempt {
    Place place;
    UniqueFd socket;
    net::Connection connection;
};

Result<std::vector<Attempt>> begin_all(const net::Netns& netns, std::uint32_t from,
                                       const std::vector<Place>& places)
{
    std::vector<Attempt> attempts;
    for (const Place& place : places) {
        AH_TRY(UniqueFd socket, net::socket_inside(netns), "ask for the way out from inside");
        (void)begin_connection(socket.get(), place); // the tracking is asked for the outcome
        sockaddr_in self = {};
        socklen_t size = sizeof self;
        if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&self), &size) != 0)
            return fail_errno("ask for the way out from inside", errno);
        const net::Connection connection{from, ntohs(self.sin_port), place.address, place.port};
        attempts.push_back({place, std::move(socket), connection});
    }
    return attempts;
}

Result<bool> any_left(net::Netlink& tracking, const std::vector<Attempt>& attempts)
{
    for (const Attempt& attempt : attempts) {
        AH_TRY(const bool tracked, net::is_tracked(tracking, attempt.connection));
        if (tracked)
            return true;
    }
    return false;
}

// Returns 0 when one of the connections left the host, else the errno of the first one. A refused
// connection counts as one that left, because the tracking forgets it at once.
Result<int> ask_for_way_out(const net::Netns& netns, std::uint32_t from,
                            const std::vector<Place>& places, net::Netlink& tracking,
                            const state::Deadline& deadline)
{
    int number = ETIMEDOUT;
    for (const std::chrono::milliseconds bound : bounds) {
        AH_TRY(const auto attempts, begin_all(netns, from, places));
        AH_TRY(const bool at_once, any_left(tracking, attempts));
        if (at_once)
            return 0;
        const state::Deadline round(std::min(bound, deadline.left()));
        bool all_ended = true;
        for (const Attempt& attempt : attempts) {
            const int came_to = await_connection(attempt.socket.get(), round.left());
            if (came_to == 0 || came_to == ECONNREFUSED)
                return 0;
            all_ended = all_ended && came_to != ETIMEDOUT;
            if (&attempt == &attempts.front())
                number = came_to;
        }
        AH_TRY(const bool after, any_left(tracking, attempts));
        if (after)
            return 0;
        if (all_ended)
            break;
    }
    return number;
}

// Returns the error when the kernel cannot be asked about connections: without ctnetlink it refuses
// every question.
std::optional<Error> cannot_tell(net::Netlink& tracking)
{
    const auto asked = net::is_tracked(tracking, {});
    return asked ? std::nullopt : std::optional(asked.error());
}

} // namespace

Status probe_brokers(const Record& record, const net::Netns& netns, const state::Deadline& deadline)
{
    const rules::Network network = record.network.value_or(rules::Network());
    const rules::Subnet subnet = network.subnet.value_or(rules::Subnet());
    for (const std::uint16_t port : network.broker_ports) {
        AH_TRY(const int number, ask_port(netns, {subnet.gateway(), port}, deadline));
        if (number == 0 || number == ECONNREFUSED)
            continue;
        return dropped({subnet.gateway(), port}, number, "input", deadline);
    }
    return {};
}

Status probe_forwarding(Record& record, const net::Netns& netns, const state::Deadline& deadline)
{
    const rules::Network network = record.network.value_or(rules::Network());
    if (!network.subnet || record.posture != Posture::filtered)
        return {};
    AH_TRY(auto route, net::Netlink::open(NETLINK_ROUTE, deadline));
    std::vector<Place> places;
    for (const Place& place : places_to_try(network)) {
        AH_TRY(const bool routed, has_route(route, network, place));
        if (routed)
            places.push_back(place);
    }
    if (places.empty())
        return {};
    AH_TRY(auto tracking, net::Netlink::open(NETLINK_NETFILTER, deadline));
    if (const auto obstacle = cannot_tell(tracking)) {
        record.advice.push_back("whether another firewall drops what was granted is not known: " +
                                obstacle->what);
        return {};
    }
    AH_TRY(const int number,
           ask_for_way_out(netns, network.subnet->inside(), places, tracking, deadline));
    return number == 0 ? Status() : dropped(places.front(), number, "forward", deadline);
}

} // namespace anchorhold
