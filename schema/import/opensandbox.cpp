// SPDX-License-Identifier: Apache-2.0
// Reads the egress policy of OpenSandbox, as its components/egress has it. For names the first rule
// that matches decides, else the default. For addresses the kernel's sets decide, where a deny wins
// over every allow. The rules mean every port but 853, which OpenSandbox drops in both protocols.
#include "schema/import/opensandbox.hpp"

#include <algorithm>

namespace anchorhold::imports {
namespace {

constexpr std::uint16_t dns_over_tls = 853;

struct Rule {
    json::View at;
    json::View target_at;
    bool allows = false;
    std::string target; // in small letters, without blanks around it
};

// Returns a word as OpenSandbox reads it: without blanks around it, in small letters.
std::string trimmed(std::string_view text)
{
    constexpr std::string_view blanks = " \t\r\n\v\f";
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos)
        return {};
    std::string word(text.substr(begin, text.find_last_not_of(blanks) - begin + 1));
    for (char& c : word)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return word;
}

// Returns whether the action is "allow"; a missing word means deny.
Result<bool> is_allow(const std::optional<json::View>& at)
{
    if (!at)
        return false;
    AH_TRY(const std::string text, at->string());
    const std::string word = trimmed(text);
    if (word != "allow" && word != "deny" && !word.empty())
        return std::unexpected(at->expected("allow or deny"));
    return word == "allow";
}

Result<Rule> read_rule(json::View at)
{
    AH_CHECK(at.object());
    AH_CHECK(at.only({"action", "target"}));
    const auto target = at.find("target");
    if (!target)
        return std::unexpected(at.wrong("has no target"));
    AH_TRY(const std::string text, target->string());
    AH_TRY(const bool allows, is_allow(at.find("action")));
    Rule rule{at, *target, allows, trimmed(text)};
    // OpenSandbox cuts blanks and lowers letters as Unicode has them, so what another text would
    // match is not known here.
    const bool plain = std::ranges::all_of(rule.target, [](char c) { return c > ' ' && c < 0x7f; });
    if (rule.target.empty() || !plain)
        return std::unexpected(target->expected("a name or an address; other scripts are xn--"));
    return rule;
}

bool is_address(const Rule& rule)
{
    const auto to = rules::parse_destination(rule.target, Code::invalid_request);
    return !to || std::holds_alternative<rules::Prefix>(*to);
}

// Returns whether OpenSandbox takes the name for one of the rule: a target without "*." in front
// matches only itself.
bool matches(const Rule& rule, std::string_view name)
{
    if (!rule.target.starts_with("*."))
        return rule.target == name;
    const std::string_view below = std::string_view(rule.target).substr(1);
    return name.ends_with(below) && name.size() > below.size();
}

std::vector<rules::PortRange> ports()
{
    return {{1, dns_over_tls - 1, false},
            {dns_over_tls + 1, 65535, false},
            {1, dns_over_tls - 1, true},
            {dns_over_tls + 1, 65535, true}};
}

// Returns an earlier rule that denies names for which the wildcard of `rule` stands, or null.
const Rule* cut_before(const std::vector<Rule>& rules, const Rule& rule)
{
    for (const Rule& earlier : rules) {
        if (&earlier == &rule)
            break;
        if (!earlier.allows && matches(rule, earlier.target))
            return &earlier;
    }
    return nullptr;
}

void take_allowed(const std::vector<Rule>& rules, const Rule& rule, Draft& draft,
                  ImportedProfile& profile)
{
    auto to = imported_pattern(rule.target);
    if (!to)
        return draft.lose(rule.target_at, to.error().what);
    if (std::holds_alternative<rules::NamePattern>(*to)) {
        const auto first = std::ranges::find_if(
            rules, [&](const Rule& other) { return matches(other, rule.target); });
        if (first != rules.end() && !first->allows)
            return draft.lose(rule.target_at, "is denied before, by " + first->at.where());
        if (const Rule* const cuts = cut_before(rules, rule)) {
            return draft.lose(rule.target_at, "stands behind " + cuts->at.where() +
                                                  ", which denies names that it would allow");
        }
    }
    draft.allow(profile, rule.target_at, {*std::move(to), ports(), {}});
}

// Takes over a denied address. A denied name needs no rule, because all that is not listed is
// refused. A denied address needs one, because an allowed name may lead to it.
Status take_denied(const Rule& rule, Draft& draft)
{
    if (!is_address(rule))
        return {};
    auto to = imported_destination(rule.target);
    if (!to && rule.target.find_first_of(":/") == std::string::npos)
        return {}; // "*" or "1.2.3": OpenSandbox takes it for a name
    if (!to)
        return std::unexpected(rule.target_at.wrong(to.error().what));
    draft.deny.push_back({*std::move(to), all_ports(), {}});
    return {};
}

} // namespace

Result<Draft> draft_from_opensandbox(json::View root)
{
    AH_CHECK(root.object());
    AH_CHECK(root.only({"defaultAction", "egress"}));
    Draft draft;
    ImportedProfile profile{"imported", {}};
    const auto fallback = root.find("defaultAction");
    AH_TRY(const bool open, is_allow(fallback));
    if (open && fallback)
        draft.lose(*fallback, "what no rule names is refused here; only the allowed are kept");
    std::vector<Rule> rules;
    if (const auto list = root.find("egress")) {
        AH_TRY(const std::vector<json::View> items, list->array());
        if (items.size() > rules::most_rules) {
            return std::unexpected(
                list->wrong("has more than " + std::to_string(rules::most_rules) + " rules"));
        }
        for (const json::View item : items) {
            AH_TRY(Rule rule, read_rule(item));
            rules.push_back(std::move(rule));
        }
    }
    for (const Rule& rule : rules) {
        if (rule.allows) {
            take_allowed(rules, rule, draft, profile);
            continue;
        }
        AH_CHECK(take_denied(rule, draft));
    }
    draft.profiles.push_back(std::move(profile));
    return draft;
}

} // namespace anchorhold::imports
