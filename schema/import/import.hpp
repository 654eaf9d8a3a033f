// SPDX-License-Identifier: Apache-2.0
// An import of other systems' network rules as a policy of ours. The policy is never looser than
// the rules were. What it permits was permitted there. A rule that closes something and is not
// understood here makes the whole import fail.
#pragma once

#include "schema/error.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::imports {

struct Imported {
    std::string policy; // accepted by parse_policy(); the same input gives the same text
    // "WHERE: SENTENCE": what could not be kept, in the order of the input
    std::vector<std::string> losses;
    friend bool operator==(const Imported&, const Imported&) = default;
};

// The formats, all JSON. srt: settings of Anthropic's sandbox-runtime. networkpolicy:
// networking.k8s.io/v1, one object or a List of them. opensandbox: the egress policy of
// OpenSandbox.
constexpr std::array<std::string_view, 3> import_formats{"srt", "networkpolicy", "opensandbox"};
// Imports a policy. Refuses (invalid_request) what it cannot import, with the place in the input.
Result<Imported> import_policy(std::string_view format, std::string text);

} // namespace anchorhold::imports
