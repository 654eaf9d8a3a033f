// SPDX-License-Identifier: Apache-2.0
#include "relay/dns_server.hpp"

#include "relay/listener.hpp"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

namespace anchorhold::relay {
namespace {

constexpr uint16_t port = 53;
constexpr int datagrams_per_turn = 16;
constexpr size_t query_limit = 2 + 512;

} // namespace

// Returns the buffer of a client's query. It is not a member, because the object holds descriptors,
// which begin as -1. So the whole object is stored in the program file, and this buffer is not.
uint8_t* DnsServer::query_of(const Client& client)
{
    static uint8_t queries[most_clients][query_limit];
    return queries[&client - client.server->clients_];
}

void DnsServer::open(int epoll, NameCounts& names)
{
    epoll_ = epoll;
    names_ = &names;
    datagrams_.ready = datagram_ready;
    datagrams_.server = this;
    connections_.ready = listener_ready;
    connections_.server = this;
    if (open_listener(Loopback::v4, Transport::udp, port, datagrams_.socket) == 0)
        // On failure it is as if unbound.
        (void)watch(epoll, datagrams_.socket.get(), EPOLLIN, datagrams_);
    if (open_listener(Loopback::v4, Transport::tcp, port, connections_.socket) == 0)
        (void)watch(epoll, connections_.socket.get(), EPOLLIN | EPOLLET, connections_);
}

// Writes the reply as refuse_name() does, and counts the name.
size_t DnsServer::refuse(const uint8_t* query, size_t size, uint8_t* reply)
{
    const size_t reply_size = refuse_name(query, size, reply);
    AskedName question;
    if (refused_question(reply, reply_size, question))
        names_->count(question);
    return reply_size;
}

void DnsServer::datagram_ready(Watch& self, uint32_t)
{
    auto& listener = static_cast<Listener&>(self);
    const int fd = listener.socket.get();
    for (int turn = 0; turn < datagrams_per_turn; ++turn) {
        uint8_t query[4096];
        uint8_t reply[dns_reply_limit];
        sockaddr_in from = {};
        socklen_t from_size = sizeof from;
        const ssize_t size = recvfrom(fd, query, sizeof query, MSG_TRUNC,
                                      reinterpret_cast<sockaddr*>(&from), &from_size);
        if (size < 0)
            return;
        if (static_cast<size_t>(size) > sizeof query)
            continue;
        const size_t reply_size = listener.server->refuse(query, static_cast<size_t>(size), reply);
        if (reply_size == 0)
            continue;
        const auto* to = reinterpret_cast<const sockaddr*>(&from);
        // When it is lost, the client asks again.
        (void)sendto(fd, reply, reply_size, MSG_NOSIGNAL, to, from_size);
    }
}

DnsServer::Client& DnsServer::longest_idle()
{
    Client* found = &clients_[0];
    for (Client& client : clients_) {
        if (!client.socket)
            return client;
        if (client.used_at < found->used_at)
            found = &client;
    }
    return *found;
}

void DnsServer::admit(UniqueFd socket)
{
    Client& client = longest_idle();
    client.ready = client_ready;
    client.server = this;
    client.used_at = ++turn_;
    client.size = 0;
    client.socket = UniqueFd(socket.release());
    if (watch(epoll_, client.socket.get(), EPOLLIN, client) != 0)
        client.socket = UniqueFd();
}

// Accepts what is there. The listener is edge-triggered, so that it does not spin when no
// descriptor is left. An event may concern a client whose place was taken in the same batch. It
// then finds the new client, whose read says EAGAIN.
void DnsServer::listener_ready(Watch& self, uint32_t)
{
    auto& listener = static_cast<Listener&>(self);
    for (;;) {
        UniqueFd socket(
            accept4(listener.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!socket)
            return;
        listener.server->admit(UniqueFd(socket.release()));
    }
}

// Answers the queries that are complete. Returns false when the client has to be closed.
bool DnsServer::answer(Client& client)
{
    uint8_t* query = query_of(client);
    while (client.size >= 2) {
        const size_t size = static_cast<size_t>(query[0]) << 8 | query[1];
        if (2 + size > query_limit)
            return false;
        if (client.size < 2 + size)
            return true;
        uint8_t reply[2 + dns_reply_limit];
        const size_t reply_size = client.server->refuse(query + 2, size, reply + 2);
        if (reply_size == 0)
            return false;
        reply[0] = static_cast<uint8_t>(reply_size >> 8);
        reply[1] = static_cast<uint8_t>(reply_size & 255);
        const size_t whole = 2 + reply_size;
        if (send(client.socket.get(), reply, whole, MSG_NOSIGNAL) != static_cast<ssize_t>(whole))
            return false;
        client.size -= 2 + size;
        memmove(query, query + 2 + size, client.size);
    }
    return true;
}

void DnsServer::client_ready(Watch& self, uint32_t)
{
    auto& client = static_cast<Client&>(self);
    if (!client.socket)
        return; // an event of the same batch has closed it
    const ssize_t size =
        recv(client.socket.get(), query_of(client) + client.size, query_limit - client.size, 0);
    if (size < 0 && errno == EAGAIN)
        return;
    client.used_at = ++client.server->turn_;
    if (size > 0)
        client.size += static_cast<size_t>(size);
    if (size <= 0 || !answer(client))
        client.socket = UniqueFd();
}

} // namespace anchorhold::relay
