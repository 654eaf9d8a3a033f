// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/gate_words.hpp"

#include <cstdlib>

namespace anchorhold::rules {
namespace {

Result<Tls> read_tls(json::View value)
{
    AH_TRY(const std::string text, value.string());
    for (const Tls tls : {Tls::same_name, Tls::no_ech, Tls::any}) {
        if (word_for(tls) == text)
            return tls;
    }
    return std::unexpected(value.expected("same-name, no-ech or any"));
}

Result<std::vector<Prefix>> read_within(json::View value)
{
    AH_TRY(const std::vector<json::View> items, value.array());
    if (items.size() > most_rule_parts)
        return std::unexpected(
            value.wrong("has more than " + std::to_string(most_rule_parts) + " entries"));
    std::vector<Prefix> within;
    for (const json::View item : items) {
        AH_TRY(const std::string text, item.string());
        const auto prefix = Prefix::parse(text, Code::invalid_request);
        if (!prefix)
            return std::unexpected(item.wrong(prefix.error().what));
        within.push_back(*prefix);
    }
    return within;
}

} // namespace

std::string_view word_for(Tls tls)
{
    switch (tls) {
    case Tls::same_name: return "same-name";
    case Tls::no_ech: return "no-ech";
    case Tls::any: return "any";
    }
    std::abort(); // a byte that is no Tls: refuse to guess
}

Status read_gate_words(json::View value, AllowRule& rule)
{
    for (const char* const word : {"tls", "within"}) {
        if (const auto member = value.find(word);
            member && !std::holds_alternative<NamePattern>(rule.to))
            return std::unexpected(member->wrong("has a place only beside a name"));
    }
    if (const auto tls = value.find("tls")) {
        AH_TRY(rule.tls, read_tls(*tls));
    }
    if (const auto within = value.find("within")) {
        AH_TRY(rule.within, read_within(*within));
    }
    return {};
}

} // namespace anchorhold::rules
