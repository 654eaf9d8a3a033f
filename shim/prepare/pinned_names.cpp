// SPDX-License-Identifier: Apache-2.0
#include "shim/prepare/pinned_names.hpp"

#include "schema/json/json.hpp"
#include "shim/runtime/child.hpp"
#include "shim/runtime/runtime.hpp"

#include <algorithm>

namespace anchorhold::prepare {
namespace {

// Bytes of the hook's answer that are read.
constexpr std::size_t most_answered = std::size_t{1} << 20;

// Returns an address of the answer. Refuses text that is no address or not written as we write it.
Result<std::string> read_address(json::View item)
{
    AH_TRY(std::string text, item.string());
    const auto address = rules::Prefix::parse(text, Code::network_setup_failed);
    if (!address || !address->is_single() ||
        address->text().substr(0, address->text().find('/')) != text)
        return std::unexpected(item.wrong(in_quotes(text) + " is no address as we write it"));
    return text;
}

Result<rules::PinnedName> read_name(json::View root, const std::string& name)
{
    const auto member = root.find(name);
    if (!member)
        return std::unexpected(root.wrong("says nothing of " + in_quotes(name)));
    AH_TRY(const auto items, member->array());
    rules::PinnedName pinned{name, {}};
    for (const json::View& item : items) {
        AH_TRY(pinned.addresses.emplace_back(), read_address(item));
    }
    return pinned;
}

// Returns the hook's line without its end.
std::string_view first_line(std::string_view text)
{
    return text.substr(0, text.find('\n'));
}

} // namespace

std::vector<std::string> names_to_pin(const std::vector<rules::AllowRule>& rules)
{
    std::vector<std::string> names;
    for (const rules::AllowRule& rule : rules) {
        const auto* const pattern = std::get_if<rules::NamePattern>(&rule.to);
        if (pattern == nullptr || !pattern->is_exact())
            continue;
        std::string name = pattern->text();
        if (std::ranges::find(names, name) == names.end())
            names.push_back(std::move(name));
    }
    return names;
}

Result<std::vector<rules::PinnedName>> parse_pinned(std::string answer,
                                                    const std::vector<std::string>& names)
{
    AH_TRY(const auto document,
           json::Document::parse(std::move(answer), Code::network_setup_failed));
    const json::View root = document.root();
    AH_TRY(const auto members, root.object());
    if (members.size() != names.size())
        return std::unexpected(root.wrong("is about other names"));
    std::vector<rules::PinnedName> pinned;
    for (const std::string& name : names) {
        AH_TRY(pinned.emplace_back(), read_name(root, name));
    }
    return pinned;
}

Result<std::vector<rules::PinnedName>> pin_names(const runtime::Helpers& helpers,
                                                 const std::vector<rules::AllowRule>& rules)
{
    const std::vector<std::string> names = names_to_pin(rules);
    if (names.empty())
        return std::vector<rules::PinnedName>();
    std::vector<std::string> words{"resolve"};
    words.insert(words.end(), names.begin(), names.end());
    AH_TRY(runtime::ProgramOutput caught, runtime::run_quietly(helpers.hook, words, most_answered),
           "resolve names");
    if (caught.status != 0) {
        return fail(Code::network_setup_failed,
                    "resolve names: " + printable(first_line(caught.text), 500));
    }
    AH_TRY(auto pinned, parse_pinned(std::move(caught.text), names), "resolve names");
    return pinned;
}

} // namespace anchorhold::prepare
