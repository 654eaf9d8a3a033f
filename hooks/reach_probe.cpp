// SPDX-License-Identifier: Apache-2.0
#include "hooks/reach_probe.hpp"

#include "hooks/conntrack.hpp"
#include "hooks/host_shared.hpp"
#include "hooks/routes.hpp"
#include "hooks/ruleset.hpp"

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

// A link that has just come up drops packets until the kernel's linkwatch has seen it, and TCP
// would say its first word again after a whole second: so it is said anew, with more patience each
// time.
constexpr std::array<std::chrono::milliseconds, 6> patience = {
    std::chrono::milliseconds(50),  std::chrono::milliseconds(100),
    std::chrono::milliseconds(200), std::chrono::milliseconds(400),
    std::chrono::milliseconds(800), std::chrono::milliseconds(1500)};

struct Place { // IPv4, tcp
    std::uint32_t address = 0;
    std::uint16_t port = 0;
};

// 0: connected; EINPROGRESS: on its way; else another errno.
int begin_connection(int socket, const Place& place)
{
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(place.port);
    to.sin_addr.s_addr = htonl(place.address);
    return ::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 ? 0 : errno;
}

// What came of it; ETIMEDOUT when nobody said anything.
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

Result<int> ask_port(const Netns& netns, const Place& place, const Deadline& deadline)
{
    int number = ETIMEDOUT;
    for (const std::chrono::milliseconds bound : patience) {
        AH_TRY(const UniqueFd socket, socket_inside(netns), "ask for the broker from inside");
        number = begin_connection(socket.get(), place);
        if (number == EINPROGRESS)
            number = await_connection(socket.get(), std::min(bound, deadline.left()));
        if (number != ETIMEDOUT)
            break;
    }
    return number;
}

std::string tables_of_others(const Deadline& deadline)
{
    auto nftables = Netlink::open(NETLINK_NETFILTER, deadline);
    const auto rules = nftables ? ask_all(*nftables, shared_table()) : Result<Ruleset>(Ruleset());
    std::string names;
    for (const std::string& name : rules ? rules->others : std::vector<std::string>()) {
        if (!name.starts_with("netdev ah"))
            names += (names.empty() ? "" : ", ") + name;
    }
    return names.empty() ? "none is listed" : "tables: " + names;
}

std::unexpected<Error> dropped(const Place& place, int number, const std::string& hook,
                               const Deadline& deadline)
{
    const std::string doing =
        "tcp from inside to " + dotted(place.address) + ":" + std::to_string(place.port);
    return fail(Code::network_setup_failed, system_error(doing, number).what +
                                                "; another firewall drops it on the host's hook " +
                                                hook + " (" + tables_of_others(deadline) +
                                                "), let links ah* in");
}

std::optional<Place> first_allowed(const Network& network)
{
    for (const Reach& reach : network.allow) {
        if (!reach.to.is_v4() || reach.ports.udp)
            continue;
        const std::uint32_t base = RoutedRange::of(reach.to).base;
        const Place place{reach.to.is_single() ? base : base + 1, reach.ports.first};
        const auto to = Prefix::parse(dotted(place.address), Code::network_setup_failed);
        if (to && judge(network, *to, place.port, false).ruling == Ruling::allowed)
            return place;
    }
    return std::nullopt;
}

Result<bool> has_route(std::uint32_t to, const Deadline& deadline)
{
    AH_TRY(auto route, Netlink::open(NETLINK_ROUTE, deadline), "");
    const auto answers = route.list(match_route(to));
    if (!answers && is_no_route(answers.error().number))
        return false;
    AH_CHECK(answers, "");
    if (answers->empty())
        return false;
    AH_TRY(const RouteAnswer answer, read_answer(answers->front()), "");
    return answer.type == RTN_UNICAST;
}

// An errno of the connection that did not leave; 0: one did.
Result<int> ask_for_way_out(const Netns& netns, std::uint32_t from, const Place& place,
                            const Deadline& deadline)
{
    AH_TRY(auto tracking, Netlink::open(NETLINK_NETFILTER, deadline), "");
    int number = ETIMEDOUT;
    for (const std::chrono::milliseconds bound : patience) {
        AH_TRY(const UniqueFd socket, socket_inside(netns), "ask for the way out from inside");
        const int begun = begin_connection(socket.get(), place);
        sockaddr_in self = {};
        socklen_t size = sizeof self;
        if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&self), &size) != 0)
            return fail_errno("ask for the way out from inside", errno);
        const Connection wanted{from, ntohs(self.sin_port), place.address, place.port};
        AH_TRY(const bool at_once, is_tracked(tracking, wanted), "");
        if (at_once)
            return 0;
        number = begun == EINPROGRESS
                     ? await_connection(socket.get(), std::min(bound, deadline.left()))
                     : begun;
        AH_TRY(const bool after, is_tracked(tracking, wanted), "");
        if (after || number == 0 || number == ECONNREFUSED) // a reset is forgotten at once
            return 0;
        if (number != ETIMEDOUT)
            break;
    }
    return number;
}

} // namespace

Status probe_brokers(const Record& record, const Netns& netns, const Deadline& deadline)
{
    const Network network = record.network.value_or(Network());
    const Subnet subnet = network.subnet.value_or(Subnet());
    for (const std::uint16_t port : network.broker_ports) {
        AH_TRY(const int number, ask_port(netns, {subnet.gateway(), port}, deadline), "");
        if (number == 0 || number == ECONNREFUSED)
            continue;
        return dropped({subnet.gateway(), port}, number, "input", deadline);
    }
    return {};
}

Status probe_forwarding(const Record& record, const Netns& netns, const Deadline& deadline)
{
    const Network network = record.network.value_or(Network());
    const auto place = first_allowed(network);
    if (!network.subnet || record.posture != Posture::filtered || !place)
        return {};
    AH_TRY(const bool routed, has_route(place->address, deadline), "");
    if (!routed)
        return {};
    AH_TRY(const int number, ask_for_way_out(netns, network.subnet->inside(), *place, deadline),
           "");
    return number == 0 ? Status() : dropped(*place, number, "forward", deadline);
}

} // namespace anchorhold
