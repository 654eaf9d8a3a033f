// SPDX-License-Identifier: Apache-2.0
// A probe finds out what this host can do. It does the very steps that a run needs, once, in a
// forked child, and leaves nothing behind. Looking at what is installed would prove less.
//
// The answers are cached in probes.json, together with the boot id and the identity of the
// binaries. A "yes" is kept. An answer that a circumstance gave (no descriptor, no memory, no time)
// says nothing about the host and is not kept. A "no" is asked again after a minute of
// CLOCK_BOOTTIME. Only one process probes at a time.
#pragma once

#include "hooks/state/state_dir.hpp"
#include "schema/decide.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace anchorhold::state {

struct ProbeAnswer {
    std::string name;        // "can_isolate"
    bool yes = false;        // whether the host can do it
    std::string step;        // the step that failed: "unshare(CLONE_NEWNET)"
    int number = 0;          // errno of that step, or 0
    std::string remedy;      // the advice for an operator; empty after a "yes"
    bool from_cache = false; // whether the answer was read from probes.json
    // Whether the probe could not try, so that nobody knows. It is never a yes, and never kept.
    bool unknown = false;
    friend bool operator==(const ProbeAnswer&, const ProbeAnswer&) = default;
};

enum class Freshness : std::uint8_t {
    cached, // an answer from probes.json will do
    again,  // every probe is done anew
};
// Says whether an errno tells of this moment or of our process, and not of the host.
bool is_circumstance(int number);
// The probes that need netlink: can_seal, can_filter and can_gate. The shim, which has no netlink,
// asks the hook.
using AskNetwork = std::function<std::vector<ProbeAnswer>()>;
// The programs that the answers are about. Another file in the place of one makes them stale.
struct ProbedFiles {
    std::string relay; // absolute paths
    std::string hook;
    Result<std::string> gate; // why not, where it cannot be used
};
// Asks can_isolate and can_relay, and whatever `ask_network` adds. can_relay is a yes when the
// relay, told to listen on a port that is already held, exits with 125.
Result<std::vector<ProbeAnswer>> probe_host(const StateDir& state, const ProbedFiles& files,
                                            const AskNetwork& ask_network, Freshness freshness);
// Returns what is wrong with the relay's file, as an answer to can_relay; nullopt when nothing is.
std::optional<ProbeAnswer> obstacle_in_file(const std::string& relay_path);
// Returns what keeps this host from forwarding packets: "ip_forward is 0 and read-only". Returns
// nullopt when the host forwards, or when the policy lets us switch it on. The answer is never
// cached, because others may change the file at any time. A file on a read-only mount cannot be
// written even by root, and `sysctl -w` does not report that, so access(2) is asked.
std::optional<std::string> obstacle_to_forwarding(const std::string& file, Forwarding policy);
constexpr const char* ip_forward = "/proc/sys/net/ipv4/ip_forward";

// Turns the answers into the host's capabilities that decide() takes.
HostCaps caps_of(const std::vector<ProbeAnswer>& answers);

} // namespace anchorhold::state
