// SPDX-License-Identifier: Apache-2.0
// Dials one of several addresses (RFC 8305, "Happy Eyeballs"): the next one is tried when one has
// failed, or has not answered for a quarter of a second; the first that answers is taken.
#pragma once

#include "relay/watch.hpp"
#include "schema/rules/destination.hpp"
#include "schema/unique_fd.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace anchorhold::gate {

class Dialer;

// Who wants a connection.
class DialUser {
public:
    // Exactly one of the two is called, once, unless the dialer is stopped before.
    virtual void connected(UniqueFd socket) = 0;
    virtual void gave_up() = 0;

protected:
    ~DialUser() = default;
};

struct Attempt : relay::Watch {
    Dialer* dialer = nullptr; // null: given up
    UniqueFd socket;
};
// The attempts that have ended. Events of the same batch may still name them, so their owner frees
// them between two waits.
using EndedAttempts = std::vector<std::unique_ptr<Attempt>>;

constexpr std::int64_t next_address_after = 250; // milliseconds

class Dialer {
public:
    Dialer(int epoll, EndedAttempts& ended, DialUser& user)
        : epoll_(epoll), ended_(ended), user_(user)
    {
    }
    Dialer(const Dialer&) = delete;
    Dialer& operator=(const Dialer&) = delete;
    ~Dialer() { stop(); }

    // Begins with the first address.
    void start(std::vector<rules::Prefix> addresses, std::uint16_t port);
    // Tries the next address as well, because the time for that has come.
    void hurry();
    bool has_more() const { return next_ < addresses_.size(); }
    void stop();

private:
    static void attempt_ready(relay::Watch& self, std::uint32_t events);
    bool begin(const rules::Prefix& address);
    void go_on();
    void drop(const Attempt& attempt);

    int epoll_;
    EndedAttempts& ended_;
    DialUser& user_;
    std::vector<rules::Prefix> addresses_;
    std::uint16_t port_ = 0;
    std::size_t next_ = 0;
    std::vector<std::unique_ptr<Attempt>> attempts_;
};

} // namespace anchorhold::gate
