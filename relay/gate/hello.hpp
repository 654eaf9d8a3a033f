// SPDX-License-Identifier: Apache-2.0
// The beginning of a TLS connection: what a ClientHello says (RFC 8446 4.1.2, RFC 6066 3). Pure.
//
// A ClientHello may come in any number of TLS records, and each record in any number of packets.
// Whatever has the looks of TLS and is no well-formed ClientHello is bad, because some servers read
// over what we might not understand: an alert or an empty record in front of the real one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace anchorhold::gate {

constexpr std::size_t most_hello = 16 << 10; // bytes that are looked at, records and all

struct Hello {
    enum class Kind : std::uint8_t {
        unfinished, // more bytes are needed
        other,      // it is not TLS
        hello,
        bad,
    };
    Kind kind = Kind::unfinished;
    std::string server_name; // as it was sent; empty: it has none
    bool has_ech = false;    // an Encrypted Client Hello, real or a fake one
    std::size_t size = 0;    // of a hello: the bytes that it takes, records and all
};

// Reads the first bytes of a client, which are all that it has sent so far, or most_hello of them.
Hello read_hello(std::span<const std::uint8_t> bytes);

// Says whether a server's first bytes are a HelloRetryRequest (RFC 8446 4.1.4), after which a
// second ClientHello comes; nullopt: more bytes are needed.
std::optional<bool> asks_again(std::span<const std::uint8_t> bytes);
// Returns the bytes without the change of ciphers that may stand in front of a second ClientHello.
std::span<const std::uint8_t> without_change(std::span<const std::uint8_t> bytes);

} // namespace anchorhold::gate
