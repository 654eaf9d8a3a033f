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

// Puts them into the record, those with most tries first.
void put_refused(Record& record, const std::map<std::string, std::uint64_t>& tries,
                 std::uint64_t others)
{
    RefusedNames refused{.names = {}, .others = others};
    for (const auto& [name, count] : tries)
        refused.names.push_back({name, count});
    std::ranges::sort(refused.names, [](const RefusedName& one, const RefusedName& other) {
        return std::tie(other.tries, one.name) < std::tie(one.tries, other.name);
    });
    for (; refused.names.size() > most_listed; refused.names.pop_back())
        refused.others += refused.names.back().tries;
    record.refused_names = std::move(refused);
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
    auto tries = read_entries(table.substr(0, header.used));
    std::erase_if(tries, [&record](const auto& entry) {
        return entry.second == 0 || is_allowed(record, entry.first);
    });
    put_refused(record, tries, tries_of(header.unlisted));
}

void note_refused(Record& record, const std::vector<GateReport>& reports)
{
    std::map<std::string, std::uint64_t> tries;
    std::uint64_t others = 0;
    for (const GateReport& report : reports) {
        for (const DeniedName& denied : report.denied) {
            std::string name = listed_name(denied.name);
            name.resize(std::min(name.size(), longest_listed));
            tries[name] += static_cast<std::uint64_t>(std::max<std::int64_t>(denied.count, 0));
        }
        others += static_cast<std::uint64_t>(std::max<std::int64_t>(report.others, 0));
    }
    put_refused(record, tries, others);
}

std::string remedy_for(const RefusedName& refused, const Record& record)
{
    if (pinned(record, refused.name) != nullptr)
        return "is allowed, but had no address when the container was created";
    const auto name = NamePattern::parse(refused.name, Code::invalid_request);
    return name && name->is_exact() ? "allow: " + refused.name : "no rule can name it";
}

} // namespace anchorhold::rules
