// SPDX-License-Identifier: Apache-2.0
#include "schema/import/draft.hpp"

#include "schema/policy.hpp"
#include "schema/rules/always_denied.hpp"
#include "schema/rules/public_suffix.hpp"

#include <algorithm>

namespace anchorhold::imports {

namespace {

std::string lower(std::string_view text)
{
    std::string small(text);
    for (char& c : small)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return small;
}

} // namespace

std::vector<rules::PortRange> both_protocols(std::uint16_t first, std::uint16_t last)
{
    return {{first, last, false}, {first, last, true}};
}

std::vector<rules::PortRange> all_ports()
{
    return both_protocols(1, 65535);
}

Result<rules::Destination> imported_destination(std::string_view text)
{
    AH_TRY(rules::Destination to, rules::parse_destination(lower(text), Code::invalid_request));
    const auto* const address = std::get_if<rules::Prefix>(&to);
    if (address != nullptr && address->is_v4() && text.contains(':'))
        return fail(Code::invalid_request, in_quotes(text) + " is an IPv4 address written as IPv6");
    return to;
}

Result<rules::Destination> imported_pattern(std::string_view text)
{
    const bool wild = text.starts_with("*.");
    if (text.substr(wild ? 1 : 0).contains('*'))
        return fail(Code::invalid_request, in_quotes(text) + " has a wildcard that is not \"*.\"");
    return imported_destination(wild ? "*" + std::string(text) : std::string(text));
}

void Draft::lose(json::View at, std::string_view sentence)
{
    losses.push_back(at.wrong(sentence).what);
}

void Draft::allow(ImportedProfile& profile, json::View at, rules::AllowRule rule)
{
    if (const auto* const name = std::get_if<rules::NamePattern>(&rule.to)) {
        const std::string text = name->text();
        if (text == "localhost" || text.ends_with(".localhost"))
            return lose(at, "no rule leads to a loopback; an endpoint does");
        if (!name->is_exact() && rules::is_at_suffix("", text.substr(text.find('.') + 1)))
            return lose(at, "a wildcard right below a top-level domain allows anybody");
        const auto gone = std::erase_if(rule.ports, [name](const rules::PortRange& ports) {
            return !name->is_exact() && ports.udp;
        });
        if (gone != 0)
            lose(at, "a wildcard is the gate's, which carries no UDP, here and in all the list");
    } else if (rules::is_covered(std::get<rules::Prefix>(rule.to),
                                 rules::always_denied(rules::Network::default_pool()))) {
        return lose(at, rules::text_of(rule.to) + " is what no run reaches");
    }
    // A longer list is refused in the end, so it need not grow any further.
    if (profile.allow.size() <= rules::most_rules &&
        std::ranges::find(profile.allow, rule) == profile.allow.end())
        profile.allow.push_back(std::move(rule));
}

} // namespace anchorhold::imports
