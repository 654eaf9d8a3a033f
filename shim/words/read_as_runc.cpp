// SPDX-License-Identifier: Apache-2.0
// A command line as runc reads it: Go's flag package below urfave/cli 1.22.
//
// Go knows -name and --name. The value stands behind "=" or is the next word, whatever that is; a
// flag takes a value only behind "=". The first word that is no option ends the options, and so
// does "--".
//
// Before that, urfave/cli moves every word that looks like an option to the front, so that options
// may follow the id. It does so for every subcommand but exec. It does not know which options take
// a value, so it moves one word behind each option along: `run A B --bundle` has the bundle A, and
// `run -d ID --bundle B` has no bundle but three operands. The code here moves words in the same
// way.
//
// Versions of urfave/cli differ in one case only: a value in a word of its own that begins with
// "-". Such a value counts as not known, but for update: "--pids-limit -1" and "-r -", of which no
// reading makes or runs anything.
#include "shim/words/read_as_runc.hpp"

#include "shim/words/option_tables.hpp"

#include <algorithm>

namespace anchorhold::words {
namespace {

using Rest = std::vector<std::string>;
using Order = std::vector<std::size_t>; // indices into rest

// An option as Go takes it apart; no value when there is no "=".
struct Flag {
    std::string_view name;
    std::optional<std::string_view> value;
};

// Returns nothing for a word that Go would call an operand or bad syntax.
std::optional<Flag> take_apart(std::string_view word)
{
    if (word.size() < 2 || word[0] != '-')
        return std::nullopt;
    word.remove_prefix(word[1] == '-' ? 2 : 1);
    if (word.empty() || word[0] == '-' || word[0] == '=')
        return std::nullopt;
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos)
        return Flag{word, std::nullopt};
    return Flag{word.substr(0, equals), word.substr(equals + 1)};
}

class RuncRules {
public:
    explicit RuncRules(std::span<const OptionRule> own) : own_(own) {}

    // Returns the rule for a long name or a letter; null: there is none.
    const OptionRule* find(std::string_view name) const
    {
        for (const auto& rules : {own_, everywhere(Flavour::runc)}) {
            for (const OptionRule& rule : rules) {
                if (rule.name == name || (name.size() == 1 && rule.letters.contains(name[0])))
                    return &rule;
            }
        }
        return nullptr;
    }
    bool is_flag(std::string_view word) const
    {
        const auto flag = take_apart(word);
        return flag && find(flag->name) != nullptr;
    }

private:
    std::span<const OptionRule> own_;
};

// Reads a truth value as Go's strconv.ParseBool does.
std::optional<bool> parse_bool(std::string_view text)
{
    for (const std::string_view word : {"1", "t", "T", "TRUE", "true", "True"}) {
        if (text == word)
            return true;
    }
    for (const std::string_view word : {"0", "f", "F", "FALSE", "false", "False"}) {
        if (text == word)
            return false;
    }
    return std::nullopt;
}

// Reads the option at order[at] into `call` and moves `at` behind it; false: not an option that we
// know. A flag that is set again replaces the earlier one; set to false, it is taken out.
bool read_one(const Rest& rest, const Order& order, std::size_t& at, const RuncRules& rules,
              Invocation& call)
{
    const auto flag = take_apart(rest[order[at]]);
    if (!flag)
        return false;
    const OptionRule* const rule = rules.find(flag->name);
    if (rule == nullptr)
        return false;
    OptionAt option{std::string(rule->name), std::string(flag->value.value_or("")), order[at]};
    ++at;
    if (rule->takes == Takes::nothing && flag->value) {
        const auto truth = parse_bool(*flag->value);
        if (!truth)
            return false;
        std::erase_if(call.options, [&](const OptionAt& set) { return set.name == rule->name; });
        if (!*truth)
            return true;
        option.value.clear();
    } else if (rule->takes == Takes::value && !flag->value) {
        if (at == order.size() || order[at] != option.first + 1)
            return false;
        if (rest[order[at]].starts_with('-') && call.verb != Verb::update)
            return false;
        option.value = rest[order[at]];
        option.words = 2;
        ++at;
    }
    call.options.push_back(std::move(option));
    return true;
}

// Parses options as flag.FlagSet.Parse does. Returns the place of the first operand in `order`.
std::size_t read_flags(const Rest& rest, const Order& order, const RuncRules& rules,
                       Invocation& call)
{
    std::size_t at = 0;
    while (at < order.size()) {
        const std::string& word = rest[order[at]];
        if (word == "--")
            return at + 1;
        if (word.size() < 2 || word[0] != '-')
            return at;
        if (!read_one(rest, order, at, rules, call)) {
            call.unknown = word;
            return at;
        }
    }
    return at;
}

// Returns the order in which reorderArgs of urfave/cli puts the words: options in front.
Order reorder(const Rest& rest, std::size_t from, const RuncRules& rules)
{
    Order flags;
    Order others;
    bool value_may_follow = false;
    for (std::size_t i = from; i < rest.size(); ++i) {
        const bool flag = rules.is_flag(rest[i]);
        if (value_may_follow && !flag) {
            flags.push_back(i);
            value_may_follow = false;
        } else if (rest[i] == "--") {
            others.insert(others.begin(), i);
            while (++i < rest.size())
                others.push_back(i);
        } else if (flag) {
            flags.push_back(i);
            value_may_follow = !rest[i].contains('=');
        } else {
            others.push_back(i);
        }
    }
    flags.insert(flags.end(), others.begin(), others.end());
    return flags;
}

Order in_order(std::size_t from, std::size_t end)
{
    Order order;
    for (std::size_t i = from; i < end; ++i)
        order.push_back(i);
    return order;
}

void read_subcommand(const Rest& rest, Invocation& call)
{
    const RuncRules rules(options_of(Flavour::runc, call.verb));
    const std::size_t from = call.verb_index + 1;
    const Order order =
        call.verb == Verb::exec ? in_order(from, rest.size()) : reorder(rest, from, rules);
    const std::size_t end = read_flags(rest, order, rules, call);
    if (call.unknown)
        return;
    const bool quoted = end > 0 && rest[order[end - 1]] == "--";
    for (std::size_t at = end; at < order.size(); ++at) {
        const std::string& word = rest[order[at]];
        // This word looks like an option behind the id. A version that knows it would have moved
        // it.
        if (call.verb != Verb::exec && !quoted && word.size() > 1 && word[0] == '-')
            call.unknown = word;
        call.operands.push_back(word);
    }
}

} // namespace

Invocation read_as_runc(const Rest& rest)
{
    Invocation call;
    call.flavour = Flavour::runc;
    const RuncRules globals(global_options(Flavour::runc));
    call.verb_index = read_flags(rest, in_order(0, rest.size()), globals, call);
    if (call.unknown || call.verb_index >= rest.size())
        return call;
    call.word = rest[call.verb_index];
    call.verb = verb_from(call.word);
    if (call.verb != Verb::other)
        read_subcommand(rest, call);
    return call;
}

} // namespace anchorhold::words
