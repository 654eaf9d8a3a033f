// SPDX-License-Identifier: Apache-2.0
// A DNS question as the gate understands it, and the bytes of its reply. Pure. The parser is the
// relay's (relay/dns.hpp), which also says what gets no reply.
#pragma once

#include "relay/dns.hpp"
#include "schema/rules/name_pattern.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace anchorhold::gate {

using Bytes = std::span<const std::uint8_t>;

// What is asked. A name that no rule could list, because it is no host name (a NUL or a dot in a
// label, a letter of another script, the root) is nullopt. Capitals are small ones.
struct Asked {
    relay::Query kind = relay::Query::unanswered;
    relay::Question question;
    std::optional<rules::NamePattern> name;
    bool wants_address = false; // type A of class IN: the one that has an answer
};
Asked read_asked(Bytes query);

enum class Outcome : std::uint8_t {
    refused,      // no rule lists the name: NXDOMAIN, and "blocked" (RFC 8914) to who sent OPT
    no_such_name, // NXDOMAIN, as the resolver outside said
    no_data,      // the name exists and has nothing of this type
    failed,       // SERVFAIL
    handle,
};

constexpr std::uint32_t handle_ttl = 60;
// The reply is the longest where an address or an extended error is added.
constexpr std::size_t reply_limit = relay::dns_reply_limit + 16 + 6;
using Reply = std::array<std::uint8_t, reply_limit>;

// Writes the reply to a query that was read, with the handle (host byte order) if that is the
// outcome. Returns its size.
std::size_t write_reply(Bytes query, const relay::Question& question, Outcome outcome,
                        std::uint32_t handle, Reply& reply);

} // namespace anchorhold::gate
