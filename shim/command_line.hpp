// SPDX-License-Identifier: Apache-2.0
// The command line as the delegate would read it (DESIGN 3.2): one table of options and arity per
// runtime. What the table does not know is refused on create, run and restore, and passed through
// elsewhere.
#pragma once

#include "schema/error.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace anchorhold {

enum class Flavour : std::uint8_t { runc, crun };
Flavour flavour_of(std::string_view delegate_path); // base name begins with "crun": crun

struct OwnOptions { // --ah-NAME VALUE or --ah-NAME=VALUE, before the delegate's subcommand
    std::optional<std::string> policy, state, profile, runtime;
};
struct Split {
    OwnOptions own;
    std::vector<std::string> rest; // the delegate's words, argv[0] not included, byte for byte
};
// Unknown --ah- options and missing or empty values are refused (invalid_request).
Result<Split> split_own_options(std::span<const char* const> words);

enum class Verb : std::uint8_t { create, run, restore, start, exec, remove, other };
enum class LogFormat : std::uint8_t { text, json };

// One option as met: where it stands in `rest`, so that it can be replaced or dropped.
struct OptionAt {
    std::string name;      // canonical long name without dashes: "log", "bundle", "env"
    std::string value;     // empty for flags
    std::size_t first = 0; // index in rest
    std::size_t words = 1; // 1: flag, or value in the same word; 2: value in the next word
};

struct Invocation {
    Verb verb = Verb::other;
    std::string word;                   // the subcommand as written; empty when there is none
    std::vector<OptionAt> options;      // global and subcommand options in order
    std::size_t verb_index = 0;         // index of the subcommand in rest
    std::vector<std::string> operands;  // after options: ID, and for exec the command
    std::optional<std::string> unknown; // the first word the table does not know
    // The last one of that name, as the delegates take it.
    const OptionAt* last(std::string_view name) const;
};
Invocation read_invocation(const std::vector<std::string>& rest, Flavour flavour);

} // namespace anchorhold
