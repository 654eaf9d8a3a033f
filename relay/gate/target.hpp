// SPDX-License-Identifier: Apache-2.0
// What a captured connection was meant for, by the address to which its client connected.
#pragma once

#include "relay/gate/handles.hpp"
#include "relay/gate/tally.hpp"
#include "schema/rules/gate_rules.hpp"

#include <optional>
#include <sys/socket.h>

namespace anchorhold::gate {

struct Target {
    enum class Kind : std::uint8_t { refused, dns, rule };
    Kind kind = Kind::refused;
    Refusal why = Refusal::no_handle; // if refused
    const rules::AllowRule* rule = nullptr;
    std::string name; // empty: an address
    std::optional<rules::Prefix> address;
    std::uint16_t port = 0;
};

// Finds the target of a connection whose local address this is.
Target find_target(const sockaddr_storage& local, const rules::GateMatcher& matcher,
                   const Handles& handles);

} // namespace anchorhold::gate
