// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/public_suffix.hpp"

#include <algorithm>

namespace anchorhold::rules {
namespace {

bool is_below(std::string_view name, std::string_view domain)
{
    return name.size() > domain.size() && name.ends_with(domain) &&
           name[name.size() - domain.size() - 1] == '.';
}

std::string_view parent_of(std::string_view domain)
{
    const std::size_t dot = domain.find('.');
    return dot == std::string_view::npos ? std::string_view() : domain.substr(dot + 1);
}

// Returns the line's rule: what stands before the first blank, nothing for a comment.
std::string_view rule_of(std::string_view line)
{
    line = line.substr(0, line.find_first_of(" \t\r"));
    return line.starts_with("//") ? std::string_view() : line;
}

// Returns the domain below which the wildcard rule stands for names; empty: it is no wildcard.
std::string_view domain_of(const AllowRule& rule, const std::string& text)
{
    const auto* const name = std::get_if<NamePattern>(&rule.to);
    if (name == nullptr || name->is_exact() || rule.public_suffix)
        return {};
    return parent_of(text);
}

} // namespace

bool is_at_suffix(std::string_view list, std::string_view domain)
{
    if (!domain.contains('.'))
        return true;
    bool found = false;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find('\n'), list.size());
        const std::string_view rule = rule_of(list.substr(0, end));
        list.remove_prefix(std::min(end + 1, list.size()));
        if (rule.starts_with('!')) { // an exception of a wildcard
            if (rule.substr(1) == domain)
                return false;
        } else if (rule.starts_with("*.")) {
            const std::string_view above = rule.substr(2);
            found =
                found || above == domain || above == parent_of(domain) || is_below(above, domain);
        } else {
            found = found || rule == domain || is_below(rule, domain);
        }
    }
    return found;
}

bool needs_suffixes(const std::vector<AllowRule>& rules)
{
    return std::ranges::any_of(
        rules, [](const AllowRule& rule) { return !domain_of(rule, text_of(rule.to)).empty(); });
}

Status check_suffixes(const std::vector<AllowRule>& rules, std::string_view list)
{
    for (const AllowRule& rule : rules) {
        const std::string text = text_of(rule.to);
        const std::string_view domain = domain_of(rule, text);
        if (domain.empty() || !is_at_suffix(list, domain))
            continue;
        return fail(Code::invalid_request,
                    "allow " + text + ": at " + std::string(domain) +
                        " or right below it names belong to anybody (public suffix); list the "
                        "names, or say \"public_suffix\": true in the policy's rule");
    }
    return {};
}

} // namespace anchorhold::rules
