// SPDX-License-Identifier: Apache-2.0
#include "hooks/broker_probe.hpp"

#include "hooks/host_shared.hpp"
#include "hooks/ruleset.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <linux/netlink.h>
#include <netinet/in.h>
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

// 0: connected; else an errno, ETIMEDOUT when nobody said anything.
int connect_to(int socket, std::uint32_t address, std::uint16_t port,
               std::chrono::milliseconds bound)
{
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(address);
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return errno;
    pollfd event = {socket, POLLOUT, 0};
    if (::poll(&event, 1, static_cast<int>(bound.count())) != 1)
        return ETIMEDOUT;
    int number = 0;
    socklen_t size = sizeof number;
    if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &number, &size) != 0)
        return errno;
    return number;
}

Result<int> ask_port(const Netns& netns, std::uint32_t address, std::uint16_t port,
                     const Deadline& deadline)
{
    int number = ETIMEDOUT;
    for (const std::chrono::milliseconds bound : patience) {
        AH_TRY(const UniqueFd socket, socket_inside(netns), "ask for the broker from inside");
        number = connect_to(socket.get(), address, port, std::min(bound, deadline.left()));
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

} // namespace

Status probe_brokers(const Record& record, const Netns& netns, const Deadline& deadline)
{
    const Network network = record.network.value_or(Network());
    const Subnet subnet = network.subnet.value_or(Subnet());
    for (const std::uint16_t port : network.broker_ports) {
        AH_TRY(const int number, ask_port(netns, subnet.gateway(), port, deadline), "");
        if (number == 0 || number == ECONNREFUSED)
            continue;
        return fail(
            Code::network_setup_failed,
            system_error("tcp from inside to " + subnet.gateway_text() + ":" + std::to_string(port),
                         number)
                    .what +
                "; another firewall drops it on the host's hook input (" +
                tables_of_others(deadline) + "), let links ah* in");
    }
    return {};
}

} // namespace anchorhold
