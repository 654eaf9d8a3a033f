// SPDX-License-Identifier: Apache-2.0
// The decision: what will hold for a run, from what was asked and what the probes proved. Pure.
#pragma once

#include "schema/request.hpp"

namespace anchorhold {

// The abilities of the host, as the probes proved them. Installed programs alone count for nothing.
struct HostCaps {
    bool can_isolate = false;
    bool can_relay = false;
    bool can_seal = false;   // a veth works, and a netdev ingress chain on it
    bool can_filter = false; // can_seal holds, and the host forwards packets
    // The reason why it cannot filter: "ip_forward is 0 and read-only". g++ warns of a designated
    // initializer that leaves this member out, unless it has an initializer itself.
    std::string no_filter = {}; // NOLINT(readability-redundant-member-init)
    bool can_gate = false;      // a transparent listener gets what is sent to any address
    friend bool operator==(const HostCaps&, const HostCaps&) = default;
};

// The network namespace that config.json names.
enum class GivenNetns : std::uint8_t {
    fresh,   // an entry without a path: a new namespace
    host,    // no entry: the host's namespace
    engines, // a path below /run/netns or /var/run/netns: an engine made it and plugged it in
    other,   // any other path: the namespace of another container, or one we know nothing of
};

// The decision: what will hold for a run. The defaults are the safe decision.
struct Decision {
    Egress asked = Egress::off;
    Posture posture = Posture::severed;
    Technique technique = Technique::none;
    Why why = Why::as_asked;
    std::string detail; // of `why`: "ip_forward is 0 and read-only"
    // Open, with nothing to add: config.json is not edited, and there is no record.
    bool untouched = false;
    friend bool operator==(const Decision&, const Decision&) = default;
};

// Decides what will hold. An allow list is served by the gate where this host can and policy has no
// other word (AllowBy); else it is filtered by packets, in place where an engine made the
// namespace, and otherwise at a veth of the run's own. A list that neither can serve is severed
// (why cannot_filter), and its endpoints are still relayed. UDP rules of a list that the gate
// serves are missing (why no_udp). A tcp: endpoint goes by the gate, or by a link under "tcp":
// "veth". Refuses (posture_unavailable) what cannot be severed or sealed on this host, a tcp:
// endpoint to which there is no way, a wildcard where there is no gate, and under `require: asked`
// an allow list of which something would be missing. Refuses (endpoint_unavailable) an endpoint
// that this host cannot relay.
Result<Decision> decide(const Request& request, const HostCaps& host,
                        GivenNetns given = GivenNetns::fresh);

// Takes out of the allow list what the decision's technique does not carry. Returns a sentence for
// each rule that lost something.
std::vector<std::string> drop_unserved(const Decision& decision, Request& request);

// Returns the decision for a request that needs nothing of any host: egress open, nothing to add.
std::optional<Decision> leave_alone(const Request& request);

// Returns whether a container that asks for nothing would be left untouched on any host.
bool is_left_alone(const Policy& policy, const std::optional<std::string>& option,
                   const std::optional<std::string>& argv0, const ContainerId& id);

// Returns the run's sentence. `destinations` counts the rules of its allow list that something can
// be reached by (rules/reachability.hpp); it matters only to a filtered run.
std::string sentence_for(const Request& request, const Decision& decision,
                         std::size_t destinations);

} // namespace anchorhold
