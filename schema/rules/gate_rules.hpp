// SPDX-License-Identifier: Apache-2.0
// What a run that is served by the gate may reach: the rules as the gate is told them, and the one
// matcher that the gate enforces and `anchorhold check` asks.
#pragma once

#include "schema/rules/network.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace anchorhold::rules {

// An endpoint tcp:HOST:PORT. Its rule has that one destination and port.
struct GateEndpoint {
    std::string name;
    bool is_host = false; // this machine's loopback; `rule.to` is then 127.0.0.1
    AllowRule rule;
    friend bool operator==(const GateEndpoint&, const GateEndpoint&) = default;
};

struct GateRules {
    Prefix handles = default_handles();
    Prefix pool = default_pool();
    // How often the run's gate was started again. Each time, wildcard names get handles that were
    // never given out before.
    std::uint32_t epoch = 0;
    std::vector<AllowRule> allow;
    std::vector<AllowRule> deny;
    std::vector<GateEndpoint> endpoints;
    static Prefix default_handles(); // 198.19.0.0/16
    static Prefix default_pool();    // the half that the handles leave to our links
    friend bool operator==(const GateRules&, const GateRules&) = default;
};

// Returns what a person is told of the rules: "names are addresses of 198.19.0.0/16", "deny ...",
// "allow x.org tcp 443".
std::vector<std::string> lines_of(const GateRules& rules);

// Addresses of the handles that are none: lo's own, at which names are answered, and the one at
// which the gate listens for what is captured. Both sockets have a port that nobody wants.
std::uint32_t lo_address(const Prefix& handles); // host byte order
std::uint32_t capture_address(const Prefix& handles);
constexpr std::uint16_t gate_port = 1;

// Returns what the packets of such a run may do inside: to the handles at the tcp ports of any
// name, and to the ranges of address rules. Which name and port go together, the gate knows.
Network gate_network(const GateRules& rules);

constexpr unsigned longest_handles = 16; // prefix length: room for every epoch
constexpr std::uint32_t most_epochs = 4;

// Reads {"handles":"198.19.0.0/16","pool":"198.18.0.0/16","epoch":0,"allow":[...],"deny":[...],
// "endpoints":[{"name":"db","to":"db.example.org","port":5432,"within":["10.0.0.0/8"]}]}. All
// members are optional. The word "host" as "to" of an endpoint means this machine's loopback.
Result<GateRules> read_gate_rules(std::string text);
// Writes the same. What it wrote reads back as equal rules.
std::string to_json(const GateRules& rules);

// The matcher. Deny always wins, and a name is denied where a rule of the deny list covers it. Of
// several allow rules that cover a name at a port, the first decides.
class GateMatcher {
public:
    explicit GateMatcher(const GateRules& rules);
    GateMatcher(const GateMatcher&) = delete; // rules are pointed at
    GateMatcher& operator=(const GateMatcher&) = delete;

    // The names without a wildcard, in the order of the rules, each once.
    const std::vector<std::string>& names() const { return names_; }
    // Returns whether a name may be reached at a tcp port.
    bool lists(const NamePattern& name) const;
    // Return the rule by which a name or an address may be reached, or null. They live as long as
    // the matcher.
    const AllowRule* rule_for(const NamePattern& name, std::uint16_t port) const;
    const AllowRule* rule_for(const Prefix& address, std::uint16_t port) const;
    // Judges one address that the name of `rule` has at this moment, or that the rule names.
    Judgement judge(const AllowRule& rule, const Prefix& address, std::uint16_t port) const;

private:
    std::vector<const AllowRule*> candidates(const NamePattern& name) const;
    bool is_denied(const Prefix& address, std::uint16_t port, Judgement& judgement) const;

    std::vector<AllowRule> allow_;
    std::vector<AllowRule> deny_;
    std::vector<Prefix> never_;
    std::vector<std::string> names_;
    std::vector<const AllowRule*> of_addresses_;
    std::unordered_map<std::string, std::vector<const AllowRule*>> of_names_; // by their pattern
};

} // namespace anchorhold::rules
