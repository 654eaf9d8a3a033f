// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/refused_names.hpp"

#include "schema/record.hpp"
#include "schema/rules/name_pattern.hpp"
#include "schema/rules/names_table.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>

namespace anchorhold::rules {
namespace {

std::uint64_t tries_of(const std::uint32_t (&asked)[question_types])
{
    return *std::ranges::max_element(asked);
}

// Reads a name byte by byte as the relay should have written it.
std::string listed_name(std::string_view bytes)
{
    std::string name;
    for (const char byte : bytes)
        name += byte == '.' ? '.' : listed_byte(static_cast<std::uint8_t>(byte));
    return name;
}

// Returns the names and their tries. Stops at the first entry that cannot be.
std::map<std::string, std::uint64_t> read_entries(std::string_view entries)
{
    std::map<std::string, std::uint64_t> found;
    for (unsigned count = 0; count < most_listed; ++count) {
        NameEntry entry = {};
        if (entries.size() < sizeof entry)
            break;
        std::memcpy(&entry, entries.data(), sizeof entry);
        if (entry.size == 0 || entry.size > longest_listed ||
            entries.size() < entry_size(entry.size))
            break;
        found[listed_name(entries.substr(sizeof entry, entry.size))] += tries_of(entry.asked);
        entries.remove_prefix(entry_size(entry.size));
    }
    return found;
}

const PinnedName* pinned(const Record& record, std::string_view name)
{
    if (!record.network)
        return nullptr;
    const auto at = std::ranges::find(record.network->names, name, &PinnedName::name);
    return at == record.network->names.end() ? nullptr : &*at;
}

bool is_allowed(const Record& record, std::string_view name)
{
    const PinnedName* const found = pinned(record, name);
    return found != nullptr && !found->addresses.empty();
}

} // namespace

void note_refused(Record& record, std::string_view table)
{
    NamesHeader header = {};
    if (table.size() != names_table_size)
        return;
    std::memcpy(&header, table.data(), sizeof header);
    if (!std::ranges::equal(header.magic, names_magic))
        return;
    table.remove_prefix(sizeof header);
    RefusedNames refused{.names = {}, .others = tries_of(header.unlisted)};
    for (auto& [name, tries] : read_entries(table.substr(0, header.used))) {
        if (tries > 0 && !is_allowed(record, name))
            refused.names.push_back({name, tries});
    }
    std::ranges::sort(refused.names, [](const RefusedName& one, const RefusedName& other) {
        return std::tie(other.tries, one.name) < std::tie(one.tries, other.name);
    });
    record.refused_names = std::move(refused);
}

std::string remedy_for(const RefusedName& refused, const Record& record)
{
    if (pinned(record, refused.name) != nullptr)
        return "is allowed, but had no address when the container was created";
    const auto name = NamePattern::parse(refused.name, Code::invalid_request);
    return name && name->is_exact() ? "allow: " + refused.name : "no rule can name it";
}

} // namespace anchorhold::rules
