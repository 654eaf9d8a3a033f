// SPDX-License-Identifier: Apache-2.0
// The command line as the runtime would read it. There is one table of options for each runtime,
// which says whether an option takes a value. A word that the table does not know is refused on
// create, run and restore, because we could not be sure what the runtime would do. Elsewhere it is
// passed on.
#pragma once

#include "schema/error.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::words {

// The two ways of reading a command line: runc parses as Go does, crun by getopt and argp.
enum class Flavour : std::uint8_t { runc, crun };
// Returns crun for a base name that begins with "crun" or "krun" (the same program), else runc.
Flavour flavour_of(std::string_view runtime_path);

// Our own options: --ah-NAME VALUE or --ah-NAME=VALUE, before the runtime's subcommand.
struct OwnOptions {
    std::optional<std::string> policy, state, profile, runtime;
    friend bool operator==(const OwnOptions&, const OwnOptions&) = default;
};
// One row of the table that --ah-help prints and that the command line is read by.
struct OwnOption {
    std::string_view name;  // the name without "--ah-"
    std::string_view value; // the value's name in the help; empty: a flag, which has a text printed
    std::string_view sentence;                     // the sentence in the help
    std::optional<std::string> OwnOptions::* into; // where the value goes; null for a flag
};
// Returns the table of our own options.
std::span<const OwnOption> own_options();

struct Split {
    OwnOptions own;
    // "help" or "version" when the user asks for that text; else empty.
    std::string_view prints;
    // The runtime's words without argv[0], byte for byte.
    std::vector<std::string> rest;
    // The error in an option of ours (invalid_request): it is unknown, its value is missing or not
    // allowed, or a shell would have changed it. Then nothing is created; everything else still
    // reaches the runtime.
    std::optional<Error> wrong;
};
// Splits the words (without argv[0]) into our options and the runtime's words.
Split split_own_options(std::span<const char* const> words);

// The subcommands that this program does more for than pass them on; `other` is all the rest.
enum class Verb : std::uint8_t { create, run, restore, start, exec, update, remove, other };
enum class LogFormat : std::uint8_t { text, json };
// Says whether the subcommand makes a container.
constexpr bool creates(Verb verb)
{
    return verb == Verb::create || verb == Verb::run || verb == Verb::restore;
}

// One option that was found, and its place in `rest`, so that it can be replaced or dropped. A
// value in the option's own word is always the end of that word.
struct OptionAt {
    // The long name without dashes: "log", "bundle", "env".
    std::string name;
    // The value; empty for a flag. A flag that was set to false is not listed at all.
    std::string value;
    std::size_t first = 0; // index in `rest`
    // 1: a flag, or the value is in the same word; 2: the value is the next word
    std::size_t words = 1;
    // The place of a crun letter in its word (-td is two options); 0 where it is no letter.
    std::size_t letter = 0;
    friend bool operator==(const OptionAt&, const OptionAt&) = default;
};

// A command line that was read.
struct Invocation {
    Flavour flavour = Flavour::runc;
    // The subcommand. It is `other` also for a creating verb that only prints its help.
    Verb verb = Verb::other;
    std::string word;                  // the subcommand as written; empty when there is none
    std::vector<OptionAt> options;     // global options and those of the subcommand, in order
    std::size_t verb_index = 0;        // index of the subcommand in `rest`
    std::vector<std::string> operands; // words behind the options: the id, and for exec the command
    // The first word that the table does not know. Nothing behind it was read.
    std::optional<std::string> unknown;
    // Returns the last option of that name, which is the one the runtimes take; null: there is
    // none.
    const OptionAt* last(std::string_view name) const;
};
// Reads `rest` as the runtime of that flavour would. Never fails: see `unknown`.
Invocation read_invocation(const std::vector<std::string>& rest, Flavour flavour);

// What an option of the runtime does to what was found in config.json.
enum class Verdict : std::uint8_t {
    passes,        // nothing
    channel,       // gives the container a way to something of the caller's that is no network
    opens_devices, // the runtime applies no device rules
    below,         // places the process outside of the container's cgroup
    refused,       // the runtime reads another file than the one that was checked
};
// Returns the verdict on one option of a command line that was read, with the value it has there.
Verdict verdict_on(const Invocation& call, const OptionAt& option);

// Refuses (invalid_request) a word that this version does not know, and an option whose verdict is
// `refused` or `below`. Asked for create, run and restore, and for commands on runs of ours.
Status check_words(const Invocation& invocation);

// Returns `rest` with another value for one of its options, in the same spelling.
std::vector<std::string> with_value(std::vector<std::string> rest, const OptionAt& option,
                                    std::string_view value);
// Returns `rest` with another value for the last option of that name; where there is none, with one
// behind the subcommand's word.
std::vector<std::string> with_option(std::vector<std::string> rest, const Invocation& call,
                                     std::string_view name, std::string_view value);
// Returns `rest` without these options, which are in the order of `rest`.
std::vector<std::string> without(const std::vector<std::string>& rest,
                                 std::span<const OptionAt> options);

} // namespace anchorhold::words
