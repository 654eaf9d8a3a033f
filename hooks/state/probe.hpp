// SPDX-License-Identifier: Apache-2.0
// What this host can do, found out by doing it once in a forked child (DESIGN 7). Answers are
// cached in probes.json with boot id and binary identity: a yes is kept, a no is asked again after
// a minute of CLOCK_BOOTTIME; one prober at a time.
#pragma once

#include "hooks/state/state_dir.hpp"
#include "schema/decide.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace anchorhold::state {

struct ProbeAnswer {
    std::string name; // "can_isolate"
    bool yes = false;
    std::string step;   // the step that failed: "unshare(CLONE_NEWNET)"
    int number = 0;     // errno of that step
    std::string remedy; // what an operator can do, empty when yes
    bool from_cache = false;
    friend bool operator==(const ProbeAnswer&, const ProbeAnswer&) = default;
};

enum class Freshness : std::uint8_t { cached, again };
// can_isolate, can_relay (the relay, asked to listen on a port already held, answers 125), and what
// `ask_network` adds: can_seal and can_filter, which the shim asks of the hook.
using AskNetwork = std::function<std::vector<ProbeAnswer>()>;
Result<std::vector<ProbeAnswer>> probe_host(const StateDir& state, const std::string& relay_path,
                                            const AskNetwork& ask_network, Freshness freshness);
// What is wrong with the relay's file itself, as can_relay's answer.
std::optional<ProbeAnswer> obstacle_in_file(const std::string& relay_path);
// What keeps this host from forwarding packets: "ip_forward is 0 and read-only"; nothing when it
// does, or may be told to. Asked each time: it is a file, and somebody else's. Root may write what
// a mount made read-only as little as anybody, and `sysctl -w` there says nothing.
std::optional<std::string> obstacle_to_forwarding(const std::string& file, Forwarding policy);
constexpr const char* ip_forward = "/proc/sys/net/ipv4/ip_forward";

HostCaps caps_of(const std::vector<ProbeAnswer>& answers);

} // namespace anchorhold::state
