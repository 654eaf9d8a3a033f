// SPDX-License-Identifier: Apache-2.0
// The input is one word per line. Its first byte chooses the runtime whose words they are.
#include "shim/words/command_line.hpp"

#include "tests/fuzz/entry.hpp"

#include <algorithm>

using namespace anchorhold;
using namespace anchorhold::words;

namespace {

constexpr std::string_view verbs[] = {"create", "run",    "restore", "start",
                                      "exec",   "update", "delete"};

void must_stand_where_it_says(const OptionAt& option, const std::vector<std::string>& rest)
{
    must(option.words == 1 || option.words == 2);
    must(option.first + option.words <= rest.size());
    must(rest[option.first].starts_with('-') && option.letter < rest[option.first].size());
    must(rest[option.first + option.words - 1].ends_with(option.value));
}

// Checks that a new value is read in the place of the old one, and that nothing else changes.
void must_be_replaceable(const Invocation& call, std::size_t index,
                         const std::vector<std::string>& rest)
{
    Invocation wanted = call;
    wanted.options[index].value = "/v";
    const auto words = with_value(rest, call.options[index], "/v");
    const Invocation got = read_invocation(words, call.flavour);
    must(got.verb == wanted.verb && got.operands == wanted.operands && !got.unknown);
    must(got.options == wanted.options);
}

void must_be_consistent(const Invocation& call, const std::vector<std::string>& rest)
{
    if (!call.word.empty())
        must(call.verb_index < rest.size() && rest[call.verb_index] == call.word);
    if (call.verb != Verb::other)
        must(std::ranges::find(verbs, call.word) != std::end(verbs));
    for (const OptionAt& option : call.options)
        must_stand_where_it_says(option, rest);
    must(without(rest, call.options).size() <= rest.size());
    if (creates(call.verb) && call.unknown)
        must(!check_words(call));
    // An unknown word must not hide a verb that could create.
    if (call.verb == Verb::other && call.unknown)
        for (const std::string_view verb : {"create", "run", "restore"})
            must(std::ranges::find(rest, verb) == rest.end() ||
                 std::ranges::find(rest, verb) - rest.begin() <
                     static_cast<std::ptrdiff_t>(call.verb_index));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    std::string_view text(reinterpret_cast<const char*>(data), size);
    const Flavour flavour = text.starts_with('c') ? Flavour::crun : Flavour::runc;
    text.remove_prefix(std::min<std::size_t>(1, text.size()));
    std::vector<std::string> words;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(word.size() + 1, text.size()));
        words.emplace_back(word.substr(0, word.find('\0')));
    }
    std::vector<const char*> argv;
    for (const std::string& word : words)
        argv.push_back(word.c_str());
    const Split split = split_own_options(argv);
    must(split.rest.size() <= words.size());
    const Invocation call = read_invocation(split.rest, flavour);
    must_be_consistent(call, split.rest);
    for (std::size_t i = 0; !call.unknown && i < call.options.size(); ++i)
        if (!call.options[i].value.empty())
            must_be_replaceable(call, i, split.rest);
    return 0;
}
