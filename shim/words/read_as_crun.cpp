// SPDX-License-Identifier: Apache-2.0
// A command line as crun reads it: argp with ARGP_IN_ORDER, which is getopt_long(3).
//
// - Letters may share a word, and the last of them may hold its value there (-db/run/b).
// - Long names may be shortened as long as only one name fits.
// - A value in a word of its own may be any word.
// - The first operand ends the options, because no parser of crun's takes operands.
#include "shim/words/read_as_crun.hpp"

#include "shim/words/option_tables.hpp"

namespace anchorhold::words {
namespace {

using Rest = std::vector<std::string>;

class CrunRules {
public:
    explicit CrunRules(std::span<const OptionRule> own) : own_(own) {}

    // Returns the rule with that whole name, else the only rule whose name begins so, else null.
    const OptionRule* find(std::string_view name) const
    {
        const OptionRule* found = nullptr;
        bool ambiguous = false;
        for (const auto& rules : {own_, everywhere(Flavour::crun)}) {
            for (const OptionRule& rule : rules) {
                if (rule.name == name)
                    return &rule;
                if (!rule.name.starts_with(name))
                    continue;
                ambiguous = found != nullptr;
                found = &rule;
            }
        }
        return ambiguous ? nullptr : found;
    }
    const OptionRule* find(char letter) const
    {
        for (const auto& rules : {own_, everywhere(Flavour::crun)}) {
            for (const OptionRule& rule : rules) {
                if (rule.letters.contains(letter))
                    return &rule;
            }
        }
        return nullptr;
    }

private:
    std::span<const OptionRule> own_;
};

// Takes the next word as the value; false: there is no next word.
bool take_next(const Rest& rest, OptionAt& option)
{
    if (option.first + 1 >= rest.size())
        return false;
    option.value = rest[option.first + 1];
    option.words = 2;
    return true;
}

bool read_long(const Rest& rest, std::size_t& at, const CrunRules& rules, Invocation& call)
{
    const std::string_view word = std::string_view(rest[at]).substr(2);
    const std::size_t equals = word.find('=');
    const OptionRule* const rule = rules.find(word.substr(0, equals));
    if (rule == nullptr)
        return false;
    OptionAt option{std::string(rule->name), "", at};
    if (equals != std::string_view::npos) {
        if (rule->takes == Takes::nothing)
            return false;
        option.value = word.substr(equals + 1);
    } else if (rule->takes == Takes::value && !take_next(rest, option)) {
        return false;
    }
    at += option.words;
    call.options.push_back(std::move(option));
    return true;
}

bool read_letters(const Rest& rest, std::size_t& at, const CrunRules& rules, Invocation& call)
{
    const std::string_view word = rest[at];
    std::size_t words = 1;
    for (std::size_t letter = 1; letter < word.size(); ++letter) {
        const OptionRule* const rule = rules.find(word[letter]);
        if (rule == nullptr)
            return false;
        OptionAt option{std::string(rule->name), "", at, 1, letter};
        if (rule->takes != Takes::nothing) {
            option.value = word.substr(letter + 1);
            if (rule->takes == Takes::value && option.value.empty() && !take_next(rest, option))
                return false;
            letter = word.size();
        }
        words = option.words;
        call.options.push_back(std::move(option));
        if (only_prints(rule->name))
            break;
    }
    at += words;
    return true;
}

// Reads the options from rest[at] on and returns the index of the first operand. An option that
// only prints ends the reading, as it ends the program.
std::size_t read_options(const Rest& rest, std::size_t at, const CrunRules& rules, Invocation& call)
{
    while (at < rest.size()) {
        const std::string& word = rest[at];
        if (word == "--")
            return at + 1;
        if (word.size() < 2 || word[0] != '-')
            return at;
        const bool known =
            word[1] == '-' ? read_long(rest, at, rules, call) : read_letters(rest, at, rules, call);
        if (!known) {
            call.unknown = word;
            return at;
        }
        if (only_prints(call.options.back().name))
            return rest.size();
    }
    return at;
}

} // namespace

Invocation read_as_crun(const Rest& rest)
{
    Invocation call;
    call.flavour = Flavour::crun;
    const CrunRules globals(global_options(Flavour::crun));
    call.verb_index = read_options(rest, 0, globals, call);
    if (call.unknown || call.verb_index >= rest.size())
        return call;
    call.word = rest[call.verb_index];
    call.verb = verb_from(call.word);
    if (call.verb == Verb::other)
        return call;
    const CrunRules rules(options_of(Flavour::crun, call.verb));
    const std::size_t end = read_options(rest, call.verb_index + 1, rules, call);
    if (!call.unknown)
        call.operands.assign(rest.begin() + static_cast<std::ptrdiff_t>(end), rest.end());
    return call;
}

} // namespace anchorhold::words
