// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/gate_words.hpp"

#include <algorithm>
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

// The stricter word, for rules that both have one.
Tls stricter(Tls one, Tls other)
{
    for (const Tls tls : {Tls::no_ech, Tls::same_name}) {
        if (one == tls || other == tls)
            return tls;
    }
    return Tls::any;
}

// Returns what two lists of ranges have in common. Ranges are nested or disjoint.
std::vector<Prefix> common_ranges(const std::vector<Prefix>& one, const std::vector<Prefix>& other)
{
    std::vector<Prefix> common;
    for (const Prefix& a : one) {
        for (const Prefix& b : other) {
            if (!a.contains(b) && !b.contains(a))
                continue;
            const Prefix& smaller = a.contains(b) ? b : a;
            if (std::ranges::find(common, smaller) == common.end())
                common.push_back(smaller);
        }
    }
    return common;
}

} // namespace

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

Status check_members(json::View value, ListKind kind)
{
    if (kind == ListKind::policy)
        return value.only({"to", "ports", "except", "tls", "within", "public_suffix"});
    if (kind == ListKind::gate)
        return value.only({"to", "ports", "except", "tls", "within"});
    for (const char* const word : {"tls", "within", "public_suffix"}) {
        if (const auto member = value.find(word)) {
            return std::unexpected(member->wrong(kind == ListKind::deny
                                                     ? "has no place in a deny list"
                                                     : "is for the policy's own lists alone"));
        }
    }
    return value.only({"to", "ports", "except"});
}

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
    const auto* const name = std::get_if<NamePattern>(&rule.to);
    for (const char* const word : {"tls", "within", "public_suffix"}) {
        if (const auto member = value.find(word); member && name == nullptr)
            return std::unexpected(member->wrong("has a place only beside a name"));
    }
    if (const auto tls = value.find("tls")) {
        AH_TRY(rule.tls, read_tls(*tls));
    }
    if (const auto within = value.find("within")) {
        AH_TRY(rule.within, read_within(*within));
    }
    if (const auto member = value.find("public_suffix")) {
        AH_TRY(rule.public_suffix, member->boolean());
        if (name != nullptr && name->is_exact())
            return std::unexpected(member->wrong("has a place only beside a wildcard"));
    }
    return {};
}

void join_words(const AllowRule& one, const AllowRule& other, WordsOf words, AllowRule& both)
{
    if (!std::holds_alternative<NamePattern>(both.to))
        return;
    both.tls = one.tls;
    both.within = one.within;
    both.public_suffix = one.public_suffix;
    if (words == WordsOf::first)
        return;
    both.tls = stricter(one.tls, other.tls);
    both.within = common_ranges(one.within, other.within);
    both.public_suffix = one.public_suffix && other.public_suffix;
}

std::string words_text(const AllowRule& rule)
{
    std::string text;
    if (rule.tls != Tls::same_name)
        text += " tls " + std::string(word_for(rule.tls));
    for (const Prefix& range : rule.within)
        text += " within " + range.text();
    return text;
}

} // namespace anchorhold::rules
