// SPDX-License-Identifier: Apache-2.0
// A draft of the policy that an import results in, and the parts that each format's reader adds to
// it.
#pragma once

#include "schema/rules/allow.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::imports {

struct ImportedProfile {
    std::string name;
    std::vector<rules::AllowRule> allow; // empty: egress is off
};

struct Draft {
    std::vector<ImportedProfile> profiles; // a single one is the policy's default
    std::vector<rules::AllowRule> deny;
    std::vector<std::string> losses;

    void lose(json::View at, std::string_view sentence);
    // Allows `rule`. A rule that no run could be granted is noted as lost instead.
    void allow(ImportedProfile& profile, json::View at, rules::AllowRule rule);
};

std::vector<rules::PortRange> both_protocols(std::uint16_t first, std::uint16_t last);
std::vector<rules::PortRange> all_ports(); // every port of both protocols

// Reads a host name or an address. Refuses an IPv4 address that is written as IPv6, because not
// every system takes the two for the same.
Result<rules::Destination> imported_destination(std::string_view text);
// Reads the same, or "*.x", which means any depth below x (our "**.x"). Refuses any other wildcard.
Result<rules::Destination> imported_pattern(std::string_view text);

} // namespace anchorhold::imports
