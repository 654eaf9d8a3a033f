// SPDX-License-Identifier: Apache-2.0
#include "relay/names.hpp"

#include "schema/record.hpp"
#include "schema/unique_fd.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <vector>

namespace anchorhold::relay::names_test {
namespace {

using rules::QuestionType;
using rules::RefusedName;

struct File {
    UniqueFd ours{::memfd_create("names", MFD_CLOEXEC)};
    NameCounts counts;

    explicit File(off_t size = rules::names_table_size)
    {
        REQUIRE(::ftruncate(ours.get(), size) == 0);
    }
    // Returns the descriptor that the counts were given.
    int give()
    {
        const int theirs = ::dup(ours.get());
        counts.open(theirs);
        return theirs;
    }
    void ask(const std::string& name, QuestionType type = QuestionType::a)
    {
        AskedName question = {};
        std::memcpy(question.name, name.data(), name.size());
        question.size = static_cast<uint8_t>(name.size());
        question.type = type;
        counts.count(question);
    }
    std::string bytes() const
    {
        std::string text(rules::names_table_size, '\0');
        REQUIRE(::pread(ours.get(), text.data(), text.size(), 0) ==
                static_cast<ssize_t>(text.size()));
        return text;
    }
    rules::RefusedNames read() const
    {
        Record record;
        rules::note_refused(record, bytes());
        REQUIRE(record.refused_names);
        return *record.refused_names;
    }
};

bool is_open(int fd)
{
    return ::fcntl(fd, F_GETFD) >= 0;
}

} // namespace

TEST_CASE("names are counted as often as they were tried, whatever was asked for at once")
{
    File file;
    CHECK_FALSE(is_open(file.give()));
    for (int times = 0; times < 3; ++times) {
        file.ask("github.com", QuestionType::a);
        file.ask("github.com", QuestionType::aaaa);
    }
    file.ask("github.com", QuestionType::other);
    file.ask("pypi.org", QuestionType::aaaa);
    file.ask("");
    CHECK(file.read() ==
          rules::RefusedNames{.names = {{"github.com", 3}, {"pypi.org", 1}}, .others = 0});
}

TEST_CASE("before anything is asked nothing is listed")
{
    File file;
    file.give();
    CHECK(file.read() == rules::RefusedNames{});
}

TEST_CASE("what finds no room is counted as others, and what is there goes on being counted")
{
    File many;
    many.give();
    for (unsigned name = 0; name < rules::most_listed + 5; ++name)
        many.ask("n" + std::to_string(name));
    many.ask("n0");
    CHECK(many.read().names.size() == rules::most_listed);
    CHECK(many.read().names.front() == RefusedName{"n0", 2});
    CHECK(many.read().others == 5);

    File longest;
    longest.give();
    for (char name = 'a'; name <= 'z'; ++name)
        for (const char end : {'0', '1', '2', '3', '4'})
            longest.ask(std::string(rules::longest_listed - 2, 'x') + name + end);
    const auto read = longest.read();
    CHECK(read.names.size() ==
          (rules::names_table_size - sizeof(rules::NamesHeader)) / rules::entry_size(253));
    CHECK(read.names.size() + read.others == std::size_t{26} * 5);
}

TEST_CASE("a count stays at its end")
{
    File file;
    file.give();
    file.ask("x.org");
    const std::uint32_t last = UINT32_MAX - 1;
    REQUIRE(::pwrite(file.ours.get(), &last, sizeof last, sizeof(rules::NamesHeader)) ==
            sizeof last);
    for (int times = 0; times < 3; ++times)
        file.ask("x.org");
    CHECK(file.read().names == std::vector<RefusedName>{{"x.org", UINT32_MAX}});
}

TEST_CASE("a descriptor that is not such a file is left alone, and nothing is counted")
{
    File small(4096);
    const int fd = small.give();
    CHECK(is_open(fd));
    small.ask("x.org");
    NameCounts nobody;
    nobody.open(-1);
    UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    nobody.open(null.get());
    CHECK(is_open(null.get()));
    ::close(fd);
}

} // namespace anchorhold::relay::names_test
