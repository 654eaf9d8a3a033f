// SPDX-License-Identifier: Apache-2.0
#include "shim/words/command_line.hpp"

#include "shim/words/option_tables.hpp"
#include "shim/words/read_as_crun.hpp"
#include "shim/words/read_as_runc.hpp"

#include <algorithm>
#include <ranges>

namespace anchorhold::words {
namespace {

constexpr std::string_view own_prefix = "--ah-";

constexpr OwnOption own_table[] = {
    {"policy", "FILE", "the policy (default: /etc/anchorhold/policy.json)", &OwnOptions::policy},
    {"state", "DIR", "the state directory (default: /run/anchorhold)", &OwnOptions::state},
    {"profile", "NAME", "the profile that containers get", &OwnOptions::profile},
    {"runtime", "PATH", "the runtime (default: the policy's, or the first runc or crun found)",
     &OwnOptions::runtime},
    {"help", "", "print this text", nullptr},
    {"version", "", "print the version", nullptr},
};

const OwnOption* find_own_option(std::string_view name)
{
    const auto* const found = std::ranges::find(own_table, name, &OwnOption::name);
    return found == std::ranges::end(own_table) ? nullptr : found;
}

// Refuses a value that would not survive the way to us. Docker joins runtimeArgs with blanks and
// has /bin/sh take them apart again.
Status check_own_value(std::string_view name, std::string_view value)
{
    const std::string option = std::string(own_prefix) + std::string(name);
    if (value.empty() || value.starts_with("--"))
        return fail(Code::invalid_request, option + " needs a value");
    if (value.find_first_of(" \t\n\"'`$\\") != std::string_view::npos) {
        return fail(Code::invalid_request,
                    option + ": " + in_quotes(value) +
                        " holds a blank, a quote or \"$\", which an engine that goes through a "
                        "shell would change; name something without");
    }
    if (name != "profile" && !value.starts_with('/'))
        return fail(Code::invalid_request, option + ": " + in_quotes(value) + " is not absolute");
    return {};
}

// Takes words[at] if it is an option of ours, and its value with it, from the next word where it
// stands there. Then `at` is the last word taken. An error goes into split.wrong.
bool take_own(std::span<const char* const> words, std::size_t& at, Split& split)
{
    std::string_view word = words[at];
    if (!word.starts_with(own_prefix))
        return false;
    word.remove_prefix(own_prefix.size());
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const OwnOption* const option = find_own_option(name);
    const bool flag = option != nullptr && option->into == nullptr;
    if (option == nullptr || (flag && equals != std::string_view::npos)) {
        split.wrong = Error{Code::invalid_request, 0, "no option " + in_quotes(words[at])};
        return true;
    }
    if (flag) {
        split.prints = option->name;
        return true;
    }
    std::string_view value;
    if (equals != std::string_view::npos) {
        value = word.substr(equals + 1);
    } else if (at + 1 < words.size()) {
        value = words[++at];
    }
    if (auto fine = check_own_value(name, value); !fine)
        split.wrong = std::move(fine).error();
    split.own.*option->into = value;
    return true;
}

// Says whether a global option of the runtime takes the next word as its value. This is asked
// before we know which runtime it is. So it searches both tables; no name is a flag for one runtime
// and not for the other.
bool takes_next(std::string_view word)
{
    if (word.contains('='))
        return false;
    word.remove_prefix(word.starts_with("--") ? 2 : 1);
    const OptionRule* found = nullptr;
    for (const Flavour flavour : {Flavour::runc, Flavour::crun}) {
        for (const OptionRule& rule : global_options(flavour)) {
            if (rule.name == word)
                return rule.takes == Takes::value;
            if (!word.empty() && rule.name.starts_with(word))
                found = &rule;
        }
    }
    return found != nullptr && found->takes == Takes::value;
}

// Assumes the worst about a command line with an unknown global option. Behind such an option
// nobody can tell its value from the subcommand. So any later word may be the subcommand: a
// creating verb is taken before all others, then the first word that is a verb we know.
void assume_worst(const std::vector<std::string>& rest, Invocation& call)
{
    for (std::size_t i = call.verb_index; i < rest.size(); ++i) {
        const Verb verb = verb_from(rest[i]);
        if (verb == Verb::other || (call.verb != Verb::other && !creates(verb)))
            continue;
        call.verb = verb;
        call.word = rest[i];
        call.verb_index = i;
        if (creates(verb))
            return;
    }
}

} // namespace

Flavour flavour_of(std::string_view runtime_path)
{
    runtime_path.remove_prefix(runtime_path.rfind('/') + 1);
    return runtime_path.starts_with("crun") || runtime_path.starts_with("krun") ? Flavour::crun
                                                                                : Flavour::runc;
}

std::span<const OwnOption> own_options()
{
    return own_table;
}

Split split_own_options(std::span<const char* const> words)
{
    Split split;
    std::size_t at = 0;
    for (; at < words.size(); ++at) {
        const std::string_view word = words[at];
        if (word.size() < 2 || word[0] != '-' || word == "--")
            break;
        if (take_own(words, at, split))
            continue;
        split.rest.emplace_back(word);
        if (takes_next(word) && at + 1 < words.size())
            split.rest.emplace_back(words[++at]);
    }
    for (; at < words.size(); ++at)
        split.rest.emplace_back(words[at]);
    return split;
}

const OptionAt* Invocation::last(std::string_view name) const
{
    for (const OptionAt& option : std::views::reverse(options)) {
        if (option.name == name)
            return &option;
    }
    return nullptr;
}

Invocation read_invocation(const std::vector<std::string>& rest, Flavour flavour)
{
    Invocation call = flavour == Flavour::crun ? read_as_crun(rest) : read_as_runc(rest);
    if (call.unknown) {
        if (call.verb == Verb::other)
            assume_worst(rest, call);
        return call;
    }
    for (const OptionAt& option : call.options) {
        if (only_prints(option.name))
            call.verb = Verb::other;
    }
    return call;
}

Status check_words(const Invocation& invocation)
{
    if (invocation.unknown) {
        return fail(Code::invalid_request,
                    "option " + in_quotes(*invocation.unknown) +
                        " is not one that this version knows or can be sure of, so it is not "
                        "passed on; leave it out");
    }
    for (const OptionAt& option : invocation.options) {
        const Verdict verdict = verdict_on(invocation, option);
        const std::string shown = "--" + option.name + " " + in_quotes(option.value);
        if (verdict == Verdict::refused) {
            return fail(Code::invalid_request,
                        shown + " would have the runtime read another file than the one that is "
                                "checked; name it config.json in the bundle");
        }
        if (verdict == Verdict::below) {
            return fail(Code::invalid_request,
                        shown + " leads out of the container's cgroup; leave \"..\" out");
        }
    }
    return {};
}

std::vector<std::string> with_value(std::vector<std::string> rest, const OptionAt& option,
                                    std::string_view value)
{
    std::string& word = rest[option.first + option.words - 1];
    word.resize(word.size() - option.value.size());
    word += value;
    return rest;
}

std::vector<std::string> with_option(std::vector<std::string> rest, const Invocation& call,
                                     std::string_view name, std::string_view value)
{
    if (const OptionAt* const option = call.last(name))
        return with_value(std::move(rest), *option, value);
    const auto behind = rest.begin() + static_cast<std::ptrdiff_t>(call.verb_index) + 1;
    rest.insert(behind, "--" + std::string(name) + "=" + std::string(value));
    return rest;
}

std::vector<std::string> without(const std::vector<std::string>& rest,
                                 std::span<const OptionAt> options)
{
    std::vector<std::string> kept = rest;
    // The order is from the back, so that indices and letters in front of the place stay true.
    for (const OptionAt& option : std::views::reverse(options)) {
        auto begin = kept.begin() + static_cast<std::ptrdiff_t>(option.first);
        const auto end = begin + static_cast<std::ptrdiff_t>(option.words);
        if (option.letter > 1) // the letters before it stay
            (begin++)->resize(option.letter);
        kept.erase(begin, end);
    }
    return kept;
}

} // namespace anchorhold::words
