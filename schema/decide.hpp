// SPDX-License-Identifier: Apache-2.0
// From what was asked and what the probes proved to what will hold. Pure.
#pragma once

#include "schema/request.hpp"

namespace anchorhold {

struct HostCaps { // what probes proved, never what is installed
    bool can_isolate = false;
    bool can_relay = false;
    bool can_seal = false;   // a veth, and a netdev ingress chain on it
    bool can_filter = false; // that, and packets are forwarded
    // Why not: "ip_forward is 0 and read-only". The initializer is for g++, which else wants it
    // named.
    std::string no_filter = {}; // NOLINT(readability-redundant-member-init)
    friend bool operator==(const HostCaps&, const HostCaps&) = default;
};

// What network namespace config.json names.
enum class GivenNetns : std::uint8_t {
    fresh,   // an entry without a path
    host,    // no entry: the host's
    engines, // a path below /run/netns or /var/run/netns: an engine made it and plugged it in
    other,   // any other path: another container's, or who knows
};

struct Decision { // one that nobody filled in is the safe one
    Egress asked = Egress::off;
    Posture posture = Posture::severed;
    Technique technique = Technique::none;
    Why why = Why::as_asked;
    std::string detail;     // of `why`: "ip_forward is 0 and read-only"
    bool untouched = false; // open with nothing to add: config.json is not edited, no record
    friend bool operator==(const Decision&, const Decision&) = default;
};

// An allowlist is filtered in place where an engine made the namespace, else by a veth of its own;
// on a host that cannot filter it is severed (why cannot_filter), its endpoints still relayed. A
// tcp:host:PORT endpoint under policy "tcp": "veth" is sealed. Refuses (posture_unavailable) what
// is not available yet (a tcp: endpoint of policy "tcp": "gate", or of another host than `host`),
// a wildcard, what cannot be severed or sealed here, and under `require: asked` an allowlist that
// would be severed; and an endpoint this host cannot relay (endpoint_unavailable).
Result<Decision> decide(const Request& request, const HostCaps& host,
                        GivenNetns given = GivenNetns::fresh);

// Returns the decision for a request that needs nothing of any host: egress open, nothing to add.
std::optional<Decision> leave_alone(const Request& request);

// Would a container that asks for nothing be left untouched, on any host?
bool is_left_alone(const Policy& policy, const std::optional<std::string>& option,
                   const std::optional<std::string>& argv0, const ContainerId& id);

std::string sentence_for(const Request& request, const Decision& decision);

} // namespace anchorhold
