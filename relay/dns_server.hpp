// SPDX-License-Identifier: Apache-2.0
// The DNS server at 127.0.0.1:53, over UDP and TCP. It is bounded to 16 connections, each with room
// for one query. A new connection takes the place of the one that was idle longest. A client that
// does not read its answer is closed.
#pragma once

#include "relay/dns.hpp"
#include "relay/names.hpp"
#include "relay/watch.hpp"
#include "schema/unique_fd.hpp"

namespace anchorhold::relay {

// The server, one per process. It must not move, because events point into it.
class DnsServer {
public:
    DnsServer() = default;
    DnsServer(const DnsServer&) = delete;
    DnsServer& operator=(const DnsServer&) = delete;

    // Binds what it can. There is nothing to report: where port 53 cannot be had, the kernel
    // refuses look-ups at once, which is as good. What is refused is counted in `names`.
    void open(int epoll, NameCounts& names);

private:
    struct Listener : Watch {
        DnsServer* server = nullptr;
        UniqueFd socket;
    };
    struct Client : Watch {
        UniqueFd socket;
        uint64_t used_at = 0;
        size_t size = 0; // bytes of its query that have come
        DnsServer* server = nullptr;
    };
    static void datagram_ready(Watch& self, uint32_t events);
    static void listener_ready(Watch& self, uint32_t events);
    static void client_ready(Watch& self, uint32_t events);
    static bool answer(Client& client);
    size_t refuse(const uint8_t* query, size_t size, uint8_t* reply);
    static uint8_t* query_of(const Client& client);
    void admit(UniqueFd socket);
    Client& longest_idle();

    int epoll_ = -1;
    NameCounts* names_ = nullptr;
    uint64_t turn_ = 0;
    Listener datagrams_;
    Listener connections_;
    static constexpr size_t most_clients = 16;
    Client clients_[most_clients];
};

} // namespace anchorhold::relay
