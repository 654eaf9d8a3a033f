// SPDX-License-Identifier: Apache-2.0
// The administrator's word: /etc/anchorhold/policy.json (DESIGN 4, schema/policy.schema.json).
// A Policy nobody filled in is the built-in closed one.
#pragma once

#include "schema/endpoint.hpp"
#include "schema/posture.hpp"
#include "schema/rules/allow.hpp"
#include "schema/rules/network.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace anchorhold {

enum class Voids : std::uint8_t { refuse, record };
enum class Vsock : std::uint8_t { deny, allow };
enum class Dns : std::uint8_t { nxdomain, none };
// Who is process 1: automatic, by the command; the relay (inside); the command (child).
enum class Relay : std::uint8_t { automatic, inside, child };
enum class OnBrokerLost : std::uint8_t { keep, stop };
enum class Tcp : std::uint8_t { gate, veth };
enum class Forwarding : std::uint8_t { require, enable };

// The policy's own switches; a profile chosen by the operator may override each.
struct Switches {
    Voids voids = Voids::refuse;
    Vsock vsock = Vsock::deny;
    Dns dns = Dns::nxdomain;
    Relay relay = Relay::automatic;
    Tcp tcp = Tcp::gate;
    OnBrokerLost on_broker_lost = OnBrokerLost::keep;
    std::int64_t broker_lost_after = 60; // seconds without a broker until TERM
    std::int64_t broker_lost_grace = 10; // seconds from there until KILL
    Forwarding forwarding = Forwarding::require;
    friend bool operator==(const Switches&, const Switches&) = default;
};

struct Profile {
    std::string name;
    Egress egress = Egress::off;
    std::vector<Endpoint> endpoints; // unix paths may hold {id}
    std::optional<std::vector<rules::AllowRule>> allow;
    Require require = Require::best;
    bool cri = false; // of a handler whose engine makes pods: their containers share one network
    std::vector<std::pair<std::string, std::string>> env; // in the file's order
    Switches switches; // the policy's, with the profile's overrides laid over
    friend bool operator==(const Profile&, const Profile&) = default;
};

struct Policy {
    std::optional<std::string> runtime; // absolute path of the delegate
    std::string fallback = "off";       // member "default": profile of a run that asked for none
    bool annotations = true;
    Egress ceiling = Egress::off;
    std::vector<std::string> sockets; // absolute directories
    std::vector<TcpTarget> tcp_endpoints;
    std::vector<std::string> annotation_profiles;       // names
    std::optional<std::vector<rules::AllowRule>> allow; // nothing: no bound
    std::vector<rules::AllowRule> deny;
    Switches switches;
    rules::Prefix pool = rules::Network::default_pool();
    std::map<std::string, Profile> profiles; // "off" always there; "open" when it exists

    Policy(); // the built-in closed default
    const Profile* find(std::string_view name) const;
    std::string known_profiles() const; // "agent, ci, off"
    friend bool operator==(const Policy&, const Policy&) = default;
};

bool is_profile_name(std::string_view name);
std::optional<Relay> relay_from(std::string_view word); // of a request: "auto", "inside", "child"

// Reads with the place in every error, and refuses all that policy.schema.json refuses (the tests
// and the fuzz entry hold one against the other: compiling a schema in every command costs more
// than the rest of the reading). What a later version will honour is "... not available yet".
// Code invalid_policy.
Result<Policy> parse_policy(std::string text);

} // namespace anchorhold
