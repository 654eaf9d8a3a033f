// SPDX-License-Identifier: Apache-2.0
// The administrator's policy, /etc/anchorhold/policy.json (schema/policy.schema.json). A default
// Policy is the closed one that is built in.
#pragma once

#include "schema/endpoint.hpp"
#include "schema/posture.hpp"
#include "schema/rules/allow.hpp"
#include "schema/rules/gate_rules.hpp"
#include "schema/rules/network.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace anchorhold {

// The answer to a bundle that holds something which voids the posture.
enum class Voids : std::uint8_t {
    refuse, // the container is not created
    record, // it is created, and the record lists the voids
};
enum class Vsock : std::uint8_t { deny, allow };
enum class Dns : std::uint8_t {
    nxdomain, // the relay answers that no name exists
    none,     // nothing of ours answers, and resolv.conf stays
};
enum class Notice : std::uint8_t {
    file, // a file tells the command what it can reach
    none, // the command is told nothing
};
enum class Relay : std::uint8_t {
    automatic, // the command decides, see schema/first_process.hpp
    inside,    // the relay is process 1
    child,     // the command is process 1, the relay its child
};
enum class OnBrokerLost : std::uint8_t {
    keep, // the command goes on
    stop, // the relay ends the command
};
// The way to a tcp: endpoint, as of enum Technique.
enum class Tcp : std::uint8_t { gate, veth };
// The technique that gives a run the destinations of its allow list.
enum class AllowBy : std::uint8_t {
    automatic, // the gate for tcp, where it can be had; packets for a list with udp
    gate,      // the gate or nothing
    packets,   // a packet filter or nothing
};
enum class Forwarding : std::uint8_t {
    require, // the host forwards packets already, or it cannot filter
    enable,  // we switch it on
};

// The switches of the policy. A profile that the operator chose may override each of them.
struct Switches {
    Voids voids = Voids::refuse;
    Vsock vsock = Vsock::deny;
    Dns dns = Dns::nxdomain;
    Notice notice = Notice::file;
    Relay relay = Relay::automatic;
    Tcp tcp = Tcp::gate;
    AllowBy allow_by = AllowBy::automatic;
    OnBrokerLost on_broker_lost = OnBrokerLost::keep;
    std::int64_t broker_lost_after = 60; // seconds without a broker until TERM
    std::int64_t broker_lost_grace = 10; // seconds from TERM until KILL
    Forwarding forwarding = Forwarding::require;
    friend bool operator==(const Switches&, const Switches&) = default;
};

struct Profile {
    std::string name;
    Egress egress = Egress::off;
    std::vector<Endpoint> endpoints; // unix: paths may hold words (path_words.hpp)
    std::optional<std::vector<rules::AllowRule>> allow;
    Require require = Require::best;
    // For a handler whose engine makes pods: the containers of a pod share one network.
    bool cri = false;
    std::vector<std::pair<std::string, std::string>> env; // in the file's order
    Switches switches; // the policy's switches, with the profile's own laid over them
    friend bool operator==(const Profile&, const Profile&) = default;
};

struct Policy {
    std::optional<std::string> runtime; // absolute path of the runtime
    std::optional<std::string> records; // absolute directory in which ended records are kept
    std::string fallback = "off"; // member "default": the profile of a run that asked for none
    bool annotations = true;
    Egress ceiling = Egress::off;
    std::vector<std::string> sockets; // absolute directories
    std::vector<TcpTarget> tcp_endpoints;
    std::vector<std::string> annotation_profiles;       // names
    std::optional<std::vector<rules::AllowRule>> allow; // none: no bound
    std::vector<rules::AllowRule> deny;
    Switches switches;
    rules::Prefix pool = rules::Network::default_pool();
    rules::Prefix handles = rules::GateRules::default_handles();
    std::map<std::string, Profile> profiles; // "off" is always there, "open" where it exists

    Policy(); // the closed default that is built in
    const Profile* find(std::string_view name) const;
    std::string known_profiles() const; // "agent, ci, off"
    friend bool operator==(const Policy&, const Policy&) = default;
};

bool is_profile_name(std::string_view name);
// Reads the word of a request: "auto", "inside", "child".
std::optional<Relay> relay_from(std::string_view word);

// Reads a policy. Refuses (invalid_policy), with the place, all that policy.schema.json refuses. It
// does so by code of its own, because compiling a schema in every command costs more than the rest
// of the reading; the tests and the fuzz entry compare the two. A choice that a later version will
// honour is refused as "not available yet".
Result<Policy> parse_policy(std::string text);

struct PolicyFile {
    std::string path; // for sentences; empty: they name no file
    std::string text;
};
// The policy and its drop-ins, policy.d/*.json beside it. A drop-in has profiles, `sockets` and
// `annotation_profiles` alone, which are added to the policy's.
struct PolicyFiles {
    std::optional<PolicyFile> policy; // none: the policy that is built in
    std::vector<PolicyFile> drop_ins;
};
// Reads them as one policy. A profile has one owner: one that stands in two files is refused.
Result<Policy> merge_policy(const PolicyFiles& files);
// Returns all that merge_policy refuses, the first of which is its error.
std::vector<Error> policy_faults(const PolicyFiles& files);

} // namespace anchorhold
