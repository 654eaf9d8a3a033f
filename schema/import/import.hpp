// SPDX-License-Identifier: Apache-2.0
// Other systems' network rules as a policy of ours. Never looser than what they were: a destination
// that comes out permitted was permitted there, and what was closed by a rule that is not
// understood here is refused as a whole.
#pragma once

#include "schema/error.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::imports {

struct Imported {
    std::string policy;              // parse_policy() takes it; one text per input
    std::vector<std::string> losses; // "WHERE: SENTENCE", what could not be kept, in its order
    friend bool operator==(const Imported&, const Imported&) = default;
};

// srt: settings of Anthropic's sandbox-runtime. networkpolicy: networking.k8s.io/v1, one object or
// a List of them. opensandbox: the egress policy of OpenSandbox. All of them JSON.
constexpr std::array<std::string_view, 3> import_formats{"srt", "networkpolicy", "opensandbox"};
// Code invalid_request, with the place in the input.
Result<Imported> import_policy(std::string_view format, std::string text);

} // namespace anchorhold::imports
