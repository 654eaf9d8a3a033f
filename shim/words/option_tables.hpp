// SPDX-License-Identifier: Apache-2.0
// The options of runc 1.1.5 to 1.5 and crun 1.8.1 to 1.29, taken from their --help and sources;
// integration/verbs/help.sh compares the table with the runtimes that are installed.
#pragma once

#include "shim/words/command_line.hpp"

#include <span>
#include <string_view>

namespace anchorhold::words {

enum class Takes : std::uint8_t {
    nothing,
    value,
    joined, // a value only in the same word: crun's --tty=no, -tno
};

struct OptionRule {
    constexpr OptionRule(std::string_view long_name, Takes what = Takes::nothing,
                         std::string_view short_names = "")
        : name(long_name), takes(what), letters(short_names)
    {
    }
    std::string_view name;
    Takes takes;
    std::string_view letters; // its short forms
};

std::span<const OptionRule> global_options(Flavour flavour);
std::span<const OptionRule> options_of(Flavour flavour, Verb verb); // empty for `other`
std::span<const OptionRule> everywhere(Flavour flavour); // what their parsers add to each list

Verb verb_from(std::string_view word);

// --help, --usage, --version: the runtime prints and does nothing else.
bool only_prints(std::string_view option);

} // namespace anchorhold::words
