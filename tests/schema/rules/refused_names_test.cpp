// SPDX-License-Identifier: Apache-2.0
#include "schema/rules/refused_names.hpp"

#include "schema/record.hpp"
#include "schema/rules/names_table.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <optional>
#include <random>

namespace anchorhold::rules::refused_names_test {
namespace {

// A table, written by hand.
struct Table {
    NamesHeader header = {};
    std::string entries;

    Table() { std::memcpy(header.magic, names_magic, sizeof header.magic); }
    void add(const std::string& name, std::uint32_t tries, std::optional<std::uint32_t> size = {})
    {
        NameEntry entry = {.asked = {0, tries, 0},
                           .size = size.value_or(static_cast<std::uint32_t>(name.size()))};
        entries.append(reinterpret_cast<const char*>(&entry), sizeof entry);
        entries += name;
        entries.resize((entries.size() + 3) / 4 * 4);
        header.used = static_cast<std::uint32_t>(entries.size());
    }
    std::string bytes() const
    {
        std::string text(names_table_size, '\0');
        std::memcpy(text.data(), &header, sizeof header);
        std::memcpy(text.data() + sizeof header, entries.data(), entries.size());
        return text;
    }
};

RefusedNames read(const std::string& bytes)
{
    Record record;
    note_refused(record, bytes);
    REQUIRE(record.refused_names);
    return *record.refused_names;
}

} // namespace

TEST_CASE("the names with the most tries come first")
{
    Table table;
    table.add("pypi.org", 2);
    table.add("github.com", 3);
    table.header.unlisted[0] = 4;
    table.header.unlisted[1] = 7;
    CHECK(read(table.bytes()) ==
          RefusedNames{.names = {{"github.com", 3}, {"pypi.org", 2}}, .others = 7});
}

TEST_CASE("a table that nobody has begun is no answer, and takes none away")
{
    Record record;
    note_refused(record, std::string(names_table_size, '\0'));
    note_refused(record, "");
    note_refused(record, Table().bytes() + "x");
    CHECK_FALSE(record.refused_names);
    record.refused_names.emplace().others = 1;
    note_refused(record, std::string(names_table_size, '\0'));
    CHECK(record.refused_names == RefusedNames{.names = {}, .others = 1});
}

TEST_CASE("a name that the run was allowed is not listed, one without an address is")
{
    Table table;
    table.add("there.test", 1);
    table.add("nowhere.test", 1);
    table.add("x.there.test", 1);
    Record record;
    record.network.emplace().names = {{"there.test", {"192.0.2.1"}}, {"nowhere.test", {}}};
    note_refused(record, table.bytes());
    REQUIRE(record.refused_names);
    CHECK(record.refused_names->names ==
          std::vector<RefusedName>{{"nowhere.test", 1}, {"x.there.test", 1}});
    CHECK(remedy_for({"nowhere.test", 1}, record) ==
          "is allowed, but had no address when the container was created");
    CHECK(remedy_for({"x.there.test", 1}, record) == "allow: x.there.test");
    for (const char* none : {"a?b.test", ".test", "test.", "127.1", "a..b", "?"})
        CHECK(remedy_for({none, 1}, record) == "no rule can name it");
}

TEST_CASE("no byte of a name leaves as it came unless a rule may hold it")
{
    Table table;
    table.add("GitHub.COM", 1);
    table.add("github.com", 2);
    table.add("a\x1b[31m\n\"*\0\xff.test", 1);
    const auto names = read(table.bytes()).names;
    REQUIRE(names.size() == 2);
    CHECK(names[0] == RefusedName{"github.com", 3});
    CHECK(names[1].name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_.?") ==
          std::string::npos);
}

TEST_CASE("an entry that cannot be ends the list")
{
    for (const std::uint32_t size : {0U, 254U, 16384U, UINT32_MAX - 2, UINT32_MAX}) {
        Table table;
        table.add("before.test", 1);
        table.add("wrong.test", 1, size);
        table.add("behind.test", 1);
        CHECK(read(table.bytes()).names == std::vector<RefusedName>{{"before.test", 1}});
    }
    Table table;
    table.add("before.test", 1);
    table.add("cut.test", 1);
    for (const std::uint32_t missing : {1U, 8U, 20U, 23U}) {
        Table cut = table;
        cut.header.used -= missing;
        CHECK(read(cut.bytes()).names == std::vector<RefusedName>{{"before.test", 1}});
    }
    table.header.used = UINT32_MAX;
    CHECK(read(table.bytes()).names.size() == 2); // zeros follow
}

TEST_CASE("whatever stands in a table, what is read of it is bounded and plain")
{
    std::minstd_rand random(1); // NOLINT(cert-msc*): the same bytes each time
    for (int round = 0; round < 2000; ++round) {
        Table table;
        while (table.entries.size() < 8000) {
            std::string name;
            for (auto length = random() % 40; length > 0; --length)
                name += static_cast<char>(random());
            const bool lies = random() % 64 == 0;
            table.add(name, static_cast<std::uint32_t>(random()),
                      lies ? std::optional(static_cast<std::uint32_t>(random() % 600))
                           : std::nullopt);
        }
        table.header.used = static_cast<std::uint32_t>(random() % 40000);
        const RefusedNames refused = read(table.bytes());
        CHECK(refused.names.size() <= most_listed);
        for (const RefusedName& one : refused.names) {
            REQUIRE(!one.name.empty());
            REQUIRE(one.name.size() <= longest_listed);
            REQUIRE(one.tries > 0);
            REQUIRE(one.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_.?") ==
                    std::string::npos);
        }
    }
}

} // namespace anchorhold::rules::refused_names_test
