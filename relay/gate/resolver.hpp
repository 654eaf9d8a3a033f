// SPDX-License-Identifier: Apache-2.0
// The resolver: c-ares on our epoll instance. It asks the servers of the host's resolv.conf and
// looks into its hosts file, for absolute names only: no search list. It lasts as long as the
// process.
#pragma once

#include "relay/watch.hpp"
#include "schema/error.hpp"
#include "schema/rules/destination.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct ares_channeldata;
struct ares_addrinfo;

namespace anchorhold::gate {

struct Resolved {
    enum class Kind : std::uint8_t { found, no_such_name, no_data, failed };
    Kind kind = Kind::failed;
    // IPv6 and IPv4 in turn, IPv6 first; bounded.
    std::vector<rules::Prefix> addresses;
    std::int64_t seconds = 0; // how long it is good for, by the answer's own word
};

// Who wants to know. The object lives until it was told. It must not ask again while it is told.
class ResolverUser {
public:
    virtual void learn(const Resolved& resolved) = 0;

protected:
    ~ResolverUser() = default;
};

class Resolver {
public:
    Resolver() = default;
    Resolver(const Resolver&) = delete;
    Resolver& operator=(const Resolver&) = delete;

    Status open(int epoll);
    // Asks for both kinds of addresses. The user may be told before this returns.
    void ask(const std::string& name, ResolverUser& user);
    // Serves time-outs. Returns the milliseconds until the next one; -1: none.
    int tick();

private:
    struct Socket : relay::Watch {
        Resolver* resolver = nullptr;
        int fd = -1; // -1: closed since
    };
    struct Stamp { // of resolv.conf
        std::int64_t seconds = 0;
        std::int64_t nanoseconds = 0;
        std::uint64_t inode = 0;
        std::int64_t size = -1;
        friend bool operator==(const Stamp&, const Stamp&) = default;
    };
    static Stamp stamp();
    static void socket_changed(void* self, int fd, int readable, int writable);
    static void socket_ready(relay::Watch& self, std::uint32_t events);
    static void answered(void* user, int status, int timeouts, ares_addrinfo* result);
    Status reopen();

    int epoll_ = -1;
    ares_channeldata* channel_ = nullptr;
    Stamp read_at_;
    std::map<int, std::unique_ptr<Socket>> sockets_;
    std::vector<std::unique_ptr<Socket>> closed_; // events of this batch may still name them
};

} // namespace anchorhold::gate
