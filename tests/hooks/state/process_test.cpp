// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/process.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

namespace anchorhold::process_test {

using namespace state;
namespace {

// Returns a /proc/PID/stat with this command, state, number of threads and start time.
std::string stat_line(const std::string& command, char state, int threads, const std::string& start)
{
    return "77 (" + command + ") " + state + " 1 2 3 0 -1 4194560 100 0 0 0 5 6 0 0 20 0 " +
           std::to_string(threads) + " 0 " + start + " 1000000 200 18446744073709551615 1 1\n";
}

std::optional<ProcessIdentity> seen(const std::string& line)
{
    const auto read = read_stat(77, line);
    REQUIRE(read);
    return *read;
}

} // namespace

TEST_CASE("a process is its pid and its start time, whatever its command is called")
{
    const ProcessIdentity it{77, 424242};
    CHECK(seen(stat_line("sh", 'S', 1, "424242")) == it);
    CHECK(seen(stat_line("a) Z 1 2 3 (b", 'R', 1, "424242")) == it);
    CHECK(seen(stat_line("", 'D', 9, "424242")) == it);
    CHECK(seen(stat_line("\n) X", 'T', 1, "424242")) == it);
}

TEST_CASE("a zombie is no process, but one whose first thread ended is")
{
    CHECK(seen(stat_line("sh", 'Z', 1, "5")) == std::nullopt);
    CHECK(seen(stat_line("sh", 'X', 0, "5")) == std::nullopt);
    CHECK(seen(stat_line("sh", 'Z', 2, "5")) == ProcessIdentity{77, 5});
}

TEST_CASE("a stat line that cannot be read is an error, not a dead process")
{
    for (const std::string& line : {std::string(), std::string("77 sh S 1"), std::string("77 (sh)"),
                                    std::string("77 (sh) S 1 2 3"), stat_line("sh", 'S', 1, "x"),
                                    stat_line("sh", 'S', 1, "-5")}) {
        const auto read = read_stat(77, line);
        REQUIRE(!read);
        CHECK(read.error().what == "read process 77: its stat line is unreadable");
    }
}

TEST_CASE("this very process is alive, and is not what had its pid before")
{
    const auto ours = identify(::getpid());
    REQUIRE(ours);
    REQUIRE(*ours);
    CHECK(is_alive(**ours));
    CHECK(!is_alive({(*ours)->pid, (*ours)->start + 1}));
    CHECK(!is_alive({0, 0}));
    CHECK(!is_alive({-1, 0}));
    CHECK(is_gone_within({(*ours)->pid, (*ours)->start - 1}, std::chrono::hours(1)));
    CHECK(!is_gone_within(**ours, std::chrono::milliseconds(0)));
}

TEST_CASE("generations are sixteen hex digits and differ")
{
    const auto one = random_generation();
    const auto two = random_generation();
    REQUIRE(one);
    REQUIRE(two);
    CHECK(one->size() == 16);
    CHECK(one->find_first_not_of("0123456789abcdef") == std::string::npos);
    CHECK(*one != *two);
}

TEST_CASE("the namespace that we are in is inhabited")
{
    const auto here = namespace_of(0, "net");
    REQUIRE(here);
    CHECK(is_inhabited(*here, "net") == true);
}

} // namespace anchorhold::process_test
