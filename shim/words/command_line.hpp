// SPDX-License-Identifier: Apache-2.0
// The command line as the runtime would read it (DESIGN 3.2): one table of options and arity per
// runtime. What the table does not know is refused on create, run and restore, and passed through
// elsewhere.
#pragma once

#include "schema/error.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::words {

enum class Flavour : std::uint8_t { runc, crun };
// Base name begins with "crun" or "krun" (the same program): crun, which parses by getopt and
// argp. All else is read as runc, which parses as Go does.
Flavour flavour_of(std::string_view runtime_path);

struct OwnOptions { // --ah-NAME VALUE or --ah-NAME=VALUE, before the runtime's subcommand
    std::optional<std::string> policy, state, profile, runtime;
    friend bool operator==(const OwnOptions&, const OwnOptions&) = default;
};
// One row of what --ah-help lists and the command line is read by.
struct OwnOption {
    std::string_view name;  // without "--ah-"
    std::string_view value; // empty: takes none, and has something printed instead of done
    std::string_view sentence;
    std::optional<std::string> OwnOptions::* into;
};
std::span<const OwnOption> own_options();

struct Split {
    OwnOptions own;
    std::string_view prints;       // "help" or "version"; empty: nothing was asked to be printed
    std::vector<std::string> rest; // the runtime's words, argv[0] not included, byte for byte
    // What was wrong with ours (invalid_request): unknown, empty, or as a shell has left it. Then
    // nothing is created; everything else still reaches the runtime.
    std::optional<Error> wrong;
};
Split split_own_options(std::span<const char* const> words);

enum class Verb : std::uint8_t { create, run, restore, start, exec, remove, other };
enum class LogFormat : std::uint8_t { text, json };
constexpr bool creates(Verb verb)
{
    return verb == Verb::create || verb == Verb::run || verb == Verb::restore;
}

// One option as met: where it stands in `rest`, so that it can be replaced or dropped. A value in
// the option's own word is that word's end.
struct OptionAt {
    std::string name;       // canonical long name without dashes: "log", "bundle", "env"
    std::string value;      // empty for flags; a flag that was set to false is not listed
    std::size_t first = 0;  // index in rest
    std::size_t words = 1;  // 1: flag, or value in the same word; 2: value in the next word
    std::size_t letter = 0; // where in its word a crun letter stands (-td is two options), else 0
    friend bool operator==(const OptionAt&, const OptionAt&) = default;
};

struct Invocation {
    Flavour flavour = Flavour::runc;
    // `other` also for a creating verb that only prints its help.
    Verb verb = Verb::other;
    std::string word;                   // the subcommand as written; empty when there is none
    std::vector<OptionAt> options;      // global and subcommand options in order
    std::size_t verb_index = 0;         // index of the subcommand in rest
    std::vector<std::string> operands;  // after options: ID, and for exec the command
    std::optional<std::string> unknown; // the first word the table does not know; nothing behind it
                                        // was read
    // The last one of that name, as the runtimes take it.
    const OptionAt* last(std::string_view name) const;
};
Invocation read_invocation(const std::vector<std::string>& rest, Flavour flavour);

// For create, run and restore, and for runs of ours: refuses (invalid_request) a word that this
// version does not know, and --config, which has the runtime read another file than the one that
// was checked.
Status check_words(const Invocation& invocation);

// `rest` with another value for one of its options, spelled as it was.
std::vector<std::string> with_value(std::vector<std::string> rest, const OptionAt& option,
                                    std::string_view value);
// `rest` without some of its options.
std::vector<std::string> without(const std::vector<std::string>& rest,
                                 std::span<const OptionAt> options);

} // namespace anchorhold::words
