// SPDX-License-Identifier: Apache-2.0
#include "shim/prepare/own_addresses.hpp"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netinet/in.h>

namespace anchorhold::prepare {
namespace {

// Adds the address, if it is one of IPv4 or IPv6.
void add_address(std::vector<rules::Prefix>& addresses, const sockaddr* at)
{
    if (at == nullptr || (at->sa_family != AF_INET && at->sa_family != AF_INET6))
        return;
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* const bytes =
        at->sa_family == AF_INET
            ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(at)->sin_addr)
            : &reinterpret_cast<const sockaddr_in6*>(at)->sin6_addr;
    ::inet_ntop(at->sa_family, bytes, text.data(), text.size());
    if (const auto address = rules::Prefix::parse(text.data(), Code::network_setup_failed))
        addresses.push_back(*address);
}

} // namespace

Result<std::vector<rules::Prefix>> own_addresses()
{
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0)
        return fail_errno("list the addresses of this host", errno);
    const std::unique_ptr<ifaddrs, decltype([](ifaddrs* list) { ::freeifaddrs(list); })> list(
        first);
    std::vector<rules::Prefix> addresses;
    for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
        add_address(addresses, one->ifa_addr);
        if ((one->ifa_flags & IFF_BROADCAST) != 0)
            add_address(addresses, one->ifa_broadaddr);
    }
    return addresses;
}

} // namespace anchorhold::prepare
