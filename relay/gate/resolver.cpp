// SPDX-License-Identifier: Apache-2.0
#include "relay/gate/resolver.hpp"

#include <algorithm>
#include <ares.h>
#include <arpa/inet.h>
#include <array>
#include <netdb.h>
#include <optional>
#include <sys/stat.h>

namespace anchorhold::gate {
namespace {

constexpr std::size_t most_addresses = 16; // of each kind: who has more is not dialled at those

std::optional<rules::Prefix> address_of(const ares_addrinfo_node& node)
{
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* bytes = nullptr;
    if (node.ai_family == AF_INET) {
        bytes = &reinterpret_cast<const sockaddr_in*>(node.ai_addr)->sin_addr;
    } else if (node.ai_family == AF_INET6) {
        bytes = &reinterpret_cast<const sockaddr_in6*>(node.ai_addr)->sin6_addr;
    }
    if (bytes == nullptr || ::inet_ntop(node.ai_family, bytes, text.data(), text.size()) == nullptr)
        return std::nullopt;
    const auto address = rules::Prefix::parse(text.data(), Code::network_setup_failed);
    return address ? std::optional(*address) : std::nullopt;
}

Resolved found(const ares_addrinfo& result)
{
    Resolved resolved;
    resolved.kind = Resolved::Kind::found;
    resolved.seconds = INT32_MAX;
    std::vector<rules::Prefix> v4;
    std::vector<rules::Prefix> v6;
    for (const ares_addrinfo_node* node = result.nodes; node != nullptr; node = node->ai_next) {
        resolved.seconds = std::min(resolved.seconds, std::int64_t{node->ai_ttl});
        const auto address = address_of(*node);
        if (!address)
            continue;
        std::vector<rules::Prefix>& kind = address->is_v4() ? v4 : v6;
        if (kind.size() < most_addresses)
            kind.push_back(*address);
    }
    for (const ares_addrinfo_cname* alias = result.cnames; alias != nullptr; alias = alias->next)
        resolved.seconds = std::min(resolved.seconds, std::int64_t{alias->ttl});
    for (std::size_t i = 0; i < most_addresses; ++i) {
        if (i < v6.size())
            resolved.addresses.push_back(v6[i]);
        if (i < v4.size())
            resolved.addresses.push_back(v4[i]);
    }
    if (resolved.addresses.empty())
        resolved.kind = Resolved::Kind::no_data;
    return resolved;
}

} // namespace

Status Resolver::open(int epoll)
{
    epoll_ = epoll;
    if (const int status = ::ares_library_init(ARES_LIB_INIT_ALL); status != ARES_SUCCESS)
        return fail(Code::network_setup_failed,
                    std::string("start the resolver: ") + ::ares_strerror(status));
    return reopen();
}

Resolver::Stamp Resolver::stamp()
{
    struct stat file = {};
    if (::stat("/etc/resolv.conf", &file) != 0)
        return {};
    return {file.st_mtim.tv_sec, file.st_mtim.tv_nsec, file.st_ino, file.st_size};
}

// Reads resolv.conf. What is being asked fails, and is asked again by who wants it.
Status Resolver::reopen()
{
    read_at_ = stamp();
    ares_options options = {};
    options.timeout = 1000; // milliseconds, twice as many in the second round
    options.tries = 2;
    options.ndots = 0;
    options.ndomains = 0; // no search list
    std::array<char, 3> files_first{"fb"};
    options.lookups = files_first.data();
    options.sock_state_cb = socket_changed;
    options.sock_state_cb_data = this;
    constexpr int set = ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_NDOTS | ARES_OPT_DOMAINS |
                        ARES_OPT_LOOKUPS | ARES_OPT_SOCK_STATE_CB;
    ares_channeldata* channel = nullptr;
    if (const int status = ::ares_init_options(&channel, &options, set); status != ARES_SUCCESS)
        return fail(Code::network_setup_failed,
                    std::string("start the resolver: ") + ::ares_strerror(status));
    ares_channeldata* const old = std::exchange(channel_, channel);
    if (old != nullptr)
        ::ares_destroy(old);
    return {};
}

void Resolver::ask(const std::string& name, ResolverUser& user)
{
    if (!(stamp() == read_at_))
        (void)reopen(); // on failure the old servers are asked
    ares_addrinfo_hints hints = {};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = ARES_AI_NOSORT; // sorting would connect a socket to each address
    ::ares_getaddrinfo(channel_, name.c_str(), nullptr, &hints, answered, &user);
}

void Resolver::answered(void* user, int status, int, ares_addrinfo* result)
{
    Resolved resolved;
    switch (status) {
    case ARES_SUCCESS: resolved = found(*result); break;
    case ARES_ENOTFOUND: resolved.kind = Resolved::Kind::no_such_name; break;
    case ARES_ENODATA: resolved.kind = Resolved::Kind::no_data; break;
    default: break; // failed
    }
    if (result != nullptr)
        ::ares_freeaddrinfo(result);
    static_cast<ResolverUser*>(user)->learn(resolved);
}

// Called by c-ares when it begins or ceases to wait for a socket. It closes the socket itself,
// after it ceased to wait.
void Resolver::socket_changed(void* self, int fd, int readable, int writable)
{
    Resolver& resolver = *static_cast<Resolver*>(self);
    const std::uint32_t events = (readable != 0 ? EPOLLIN : 0U) | (writable != 0 ? EPOLLOUT : 0U);
    const auto known = resolver.sockets_.find(fd);
    if (events == 0) {
        if (known == resolver.sockets_.end())
            return;
        (void)::epoll_ctl(resolver.epoll_, EPOLL_CTL_DEL, fd, nullptr); // close(2) does the same
        known->second->fd = -1;
        resolver.closed_.push_back(std::move(known->second));
        resolver.sockets_.erase(known);
        return;
    }
    if (known != resolver.sockets_.end()) {
        (void)relay::rewatch(resolver.epoll_, fd, events, *known->second);
        return;
    }
    auto socket = std::make_unique<Socket>();
    socket->ready = socket_ready;
    socket->resolver = &resolver;
    socket->fd = fd;
    (void)relay::watch(resolver.epoll_, fd, events, *socket); // on failure the time-out comes
    resolver.sockets_.emplace(fd, std::move(socket));
}

void Resolver::socket_ready(relay::Watch& self, std::uint32_t events)
{
    const auto& socket = static_cast<Socket&>(self);
    if (socket.fd < 0)
        return;
    const bool in = (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0;
    const bool out = (events & EPOLLOUT) != 0;
    ::ares_process_fd(socket.resolver->channel_, in ? socket.fd : ARES_SOCKET_BAD,
                      out ? socket.fd : ARES_SOCKET_BAD);
}

int Resolver::tick()
{
    closed_.clear();
    timeval left = {};
    if (::ares_timeout(channel_, nullptr, &left) == nullptr)
        return -1;
    if (left.tv_sec == 0 && left.tv_usec == 0) {
        ::ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
        if (::ares_timeout(channel_, nullptr, &left) == nullptr)
            return -1;
    }
    return static_cast<int>(left.tv_sec * 1000 + left.tv_usec / 1000 + 1);
}

} // namespace anchorhold::gate
