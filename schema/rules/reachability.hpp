// SPDX-License-Identifier: Apache-2.0
// The answer of `anchorhold check`: whether a run would reach a destination, and by which rule; and
// which rules of an allow list lead nowhere. Pure: the network already holds the addresses of its
// names.
#pragma once

#include "schema/decide.hpp"
#include "schema/rules/gate_rules.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::rules {

// Reads one address or name at one tcp port, 443 when none is named: "github.com", "10.1.2.3:5432",
// "[2001:db8::1]:443". Refuses (invalid_request) anything else.
Result<AllowRule> parse_question(std::string_view text);

struct Reachability {
    bool reachable = false;
    std::vector<std::string> lines; // "refused: 10.0.0.1 tcp 443, no rule allows it"
    friend bool operator==(const Reachability&, const Reachability&) = default;
};
// Answers the question. `network` matters only to a filtered run. A name is reachable when one of
// its addresses is; in such a run a name that was not pinned resolves to nothing.
Reachability reachability(const Request& request, const Decision& decision, const Network& network,
                          const AllowRule& question);

// The same for a run that the gate serves. A name is reachable when a rule allows it: where it
// leads is judged when it is dialled. `own` are the host's addresses.
Reachability gate_reachability(const Request& request, const Decision& decision,
                               const GateRules& rules, const std::vector<Prefix>& own,
                               const AllowRule& question);

// Returns a sentence for each rule of an allow list by which nothing is reachable, at no address
// and no port: "allow 169.254.0.0/16 tcp 443 reaches nothing: always denied: 169.254.0.0/16". It
// judges as reachability() does. `network` was compiled from a list that holds these rules.
std::vector<std::string> rules_without_reach(const Network& network,
                                             const std::vector<AllowRule>& allow);

} // namespace anchorhold::rules
