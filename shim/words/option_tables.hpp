// SPDX-License-Identifier: Apache-2.0
// The options of runc 1.1.5 to 1.5 and crun 1.8.1 to 1.29. They are taken from --help and from the
// sources; integration/verbs/help.sh compares the tables with the runtimes that are installed.
#pragma once

#include "shim/words/command_line.hpp"

#include <span>
#include <string_view>

namespace anchorhold::words {

enum class Takes : std::uint8_t {
    nothing, // a flag
    value,   // a value, in the same word or in the next one
    joined,  // a value only in the same word: crun's --tty=no, -tno
};

// One option of a runtime.
struct OptionRule {
    // The verdict has no default: who adds an option has to say what it does to the promise.
    constexpr OptionRule(std::string_view long_name, Verdict judged, Takes what = Takes::nothing,
                         std::string_view short_names = "")
        : name(long_name), verdict(judged), takes(what), letters(short_names)
    {
    }
    std::string_view name;
    Verdict verdict;
    Takes takes;
    std::string_view letters; // the letters that are short for it
};

std::span<const OptionRule> global_options(Flavour flavour);
// Returns the options of a subcommand; none for start and `other`.
std::span<const OptionRule> options_of(Flavour flavour, Verb verb);
// Returns the options that the runtime's parser adds to every list.
std::span<const OptionRule> everywhere(Flavour flavour);

// Returns the verb that a subcommand's word names; `other` for all that are not listed in Verb.
Verb verb_from(std::string_view word);

// Says whether the option is --help, --usage or --version: then the runtime prints and does nothing
// else.
bool only_prints(std::string_view option);

} // namespace anchorhold::words
