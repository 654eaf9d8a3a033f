// SPDX-License-Identifier: Apache-2.0
// One connection of a client, from the moment it is accepted:
//
//   in line     until it may be dialled (64 at once, 50 a second)
//   looked up   until its name is resolved
//   dialled     until one of the addresses has answered
//   open        bytes flow (relay/stream.hpp). As long as the client's first bytes may be a
//               ClientHello, they stay in the kernel and are only peeked at; the server's flow
//
// From accept to open it has 10 seconds, and a ClientHello has 10 from its first byte.
#pragma once

#include "relay/gate/dialer.hpp"
#include "relay/gate/lookups.hpp"
#include "relay/gate/tally.hpp"
#include "relay/stream.hpp"
#include "schema/rules/gate_rules.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace anchorhold::gate {

class Gate;

struct Connection final : relay::Stream, Waiter, DialUser {
    Connection(Gate& owner, int epoll, EndedAttempts& ended)
        : Stream{}, gate(owner), dialer(epoll, ended, *this)
    {
    }
    void resolved(const Resolved& resolved) override;
    void connected(UniqueFd socket) override;
    void gave_up() override;

    Gate& gate;
    Dialer dialer;
    std::size_t place = 0;     // in the gate's list
    std::int64_t timer = 0;    // when it is to be looked at again; 0: never
    std::int64_t deadline = 0; // by when it must be open
    const rules::AllowRule* rule = nullptr;
    std::string name; // that its handle means; empty: it came to an address or endpoint
    std::optional<rules::Prefix> address; // to which it was captured
    std::uint16_t port = 0;
    bool is_host = false;       // this machine's loopback
    bool dials = false;         // it counts as being dialled
    bool looks = false;         // its first bytes are looked at
    bool watches = false;       // the server's are: they may ask for a second ClientHello
    bool again = false;         // they did
    std::size_t hello_size = 0; // of the first ClientHello
};

// What a client's first bytes say.
enum class Look : std::uint8_t {
    nothing,    // there are none
    unfinished, // it is to be looked at again when more has come
    passes,
    refused,
    again, // of a server: it asks for a second ClientHello
};
// Looks at the bytes of a client that has not been let through yet. Its rule is not Tls::any.
Look look_at_hello(Connection& connection);
// Looks at what the server answers to a ClientHello. A second one is only awaited when the client
// has sent nothing behind the first, because that is with the server already.
Look look_at_answer(const Connection& connection);

// Returns how many bytes it has read and not written.
std::size_t unsent(const relay::Stream& stream);

} // namespace anchorhold::gate
