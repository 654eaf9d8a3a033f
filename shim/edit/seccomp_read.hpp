// SPDX-License-Identifier: Apache-2.0
// Reads the parts of a seccomp profile as the runtimes do.
#pragma once

#include "schema/json/json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::edit {

// A condition on one argument of a system call.
struct Condition {
    // The argument's number (from 0), and what it is compared with.
    std::uint64_t index = 0, value = 0, value_two = 0;
    std::string op;
    std::string raw; // its JSON text

    // Says whether it holds for this argument; nothing for an operator that we do not know.
    std::optional<bool> holds(std::uint64_t argument) const;
};
using Conditions = std::vector<Condition>; // all of them must hold

// The effect of an action on the call.
enum class ActionDoes : std::uint8_t {
    denies,
    permits, // also when somebody else decides
};
// Returns nothing for an action that we do not know.
std::optional<ActionDoes> action_does(std::string_view word);

// Returns a member; nothing when it is missing or null, which both runtimes take for missing.
std::optional<json::View> present(json::View object, std::string_view key);
Result<std::string> optional_string(json::View object, std::string_view key);
Result<std::vector<json::View>> optional_array(json::View object, std::string_view key);
// Reads an argument of a system call: 64 bits, unsigned; 0 when it is missing.
Result<std::uint64_t> optional_word(json::View object, std::string_view key);
Result<Condition> read_condition(json::View argument);

} // namespace anchorhold::edit
