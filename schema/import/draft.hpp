// SPDX-License-Identifier: Apache-2.0
// The policy that an import is about to become, and what each format's reader adds to it.
#pragma once

#include "schema/rules/allow.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::imports {

struct ImportedProfile {
    std::string name;
    std::vector<rules::AllowRule> allow; // empty: egress off
};

struct Draft {
    std::vector<ImportedProfile> profiles; // one alone is the policy's default
    std::vector<rules::AllowRule> deny;
    std::vector<std::string> losses;

    void lose(json::View at, std::string_view sentence);
    // Allows `rule`, unless it is one that no run could be granted; then it is lost.
    void allow(ImportedProfile& profile, json::View at, rules::AllowRule rule);
};

std::vector<rules::PortRange> both_protocols(std::uint16_t first, std::uint16_t last);
std::vector<rules::PortRange> all_ports(); // of both protocols

// A host name or an address; an IPv4 address that is written as IPv6 is refused, for not everybody
// means the former by it.
Result<rules::Destination> imported_destination(std::string_view text);
// The same, but "*.x" is any depth below x (our "**.x"), and there is no other wildcard.
Result<rules::Destination> imported_pattern(std::string_view text);

} // namespace anchorhold::imports
