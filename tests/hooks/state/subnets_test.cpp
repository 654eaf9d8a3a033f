// SPDX-License-Identifier: Apache-2.0
#include "hooks/files/whole_file.hpp"
#include "hooks/state/subnets.hpp"
#include "tests/hooks/state/runs.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <set>
#include <sys/wait.h>

namespace anchorhold::subnets_test {

using namespace rules;
using namespace state;
namespace {

Prefix a_pool(std::string_view text)
{
    const auto pool = Prefix::parse(text, Code::invalid_policy);
    REQUIRE(pool);
    return *pool;
}

RoutedRange routed(std::string_view text, unsigned link = 2)
{
    RoutedRange range = RoutedRange::of(a_pool(text));
    range.link = link;
    return range;
}

AskRouted asked(const std::vector<RoutedRange>& taken)
{
    return [list = RoutedList(taken)](const Subnet& subnet) { return list.touching(subnet); };
}

RunKey key_of(std::uint64_t number)
{
    std::array<char, 16> text{};
    (void)std::snprintf(text.data(), text.size(), "%012llx", // 12 digits and a zero fit
                        static_cast<unsigned long long>(number));
    const auto key = RunKey::parse(std::string_view(text.data(), 12));
    REQUIRE(key);
    return *key;
}

Walk a_walk(std::string_view pool, std::uint64_t key)
{
    const auto walk = Walk::through(a_pool(pool), key_of(key));
    REQUIRE(walk);
    return *walk;
}

struct Walked {
    std::vector<std::string> free;
    std::uint32_t steps = 0;
};
Walked walked(std::string_view pool, std::uint64_t key, const std::vector<RoutedRange>& taken = {})
{
    Walk walk = a_walk(pool, key);
    const RoutedList list(taken);
    Walked found;
    while (const auto subnet = walk.next()) {
        if (const auto range = list.touching(*subnet))
            walk.jump_over(*range);
        else
            found.free.push_back(subnet->text());
    }
    found.steps = walk.steps();
    return found;
}

std::string reserved(const StateDir& state, const RunKey& key, std::string_view pool,
                     const std::vector<RoutedRange>& taken = {})
{
    const auto subnet = reserve_subnet(state, key, a_generation, a_pool(pool), asked(taken));
    return subnet ? subnet->text() : subnet.error().what;
}

std::string found_by(const StateDir& state, const RunKey& key)
{
    const auto holds = reserved_subnets(state);
    if (!holds)
        return holds.error().what;
    const auto own = std::ranges::find(*holds, key.text(), &SubnetReservation::key);
    return own == holds->end() ? "none" : own->subnet.text();
}

std::vector<SubnetReservation> holds_of(const StateDir& state)
{
    const auto holds = reserved_subnets(state);
    REQUIRE(holds);
    return *holds;
}

Subnet subnet(std::string_view text)
{
    const auto parsed = Subnet::parse(text, Code::network_setup_failed);
    REQUIRE(parsed);
    return *parsed;
}

} // namespace

TEST_CASE("a run walks through the whole pool, upwards from a place of its own and round")
{
    CHECK(walked("10.9.8.0/28", 2).free ==
          std::vector<std::string>{"10.9.8.8/30", "10.9.8.12/30", "10.9.8.0/30", "10.9.8.4/30"});
    CHECK(walked("10.9.8.4/30", 7).free == std::vector<std::string>{"10.9.8.4/30"});
    CHECK(a_walk("0.0.0.0/0", 0).places() == 1U << 30);
}

TEST_CASE("the turn of a subnet is the inverse of the order, at every boundary of an octet")
{
    for (const char* pool : {"0.0.0.0/0", "10.0.0.0/8", "198.18.0.0/15", "10.4.0.0/16",
                             "255.255.254.0/23", "10.0.0.0/24", "10.0.0.252/30"}) {
        for (const std::uint64_t key : {0x0ULL, 0x1ULL, 0x3fULL, 0x40ULL, 0x3fffULL, 0x4000ULL,
                                        0x3fffffULL, 0xffffffffffffULL}) {
            const Walk walk = a_walk(pool, key);
            for (const std::uint32_t octet : {0x40U, 0x4000U, 0x400000U, 1U << 30}) {
                for (const std::uint32_t turn : {0U, 1U, octet - 1, octet, octet + 1}) {
                    if (turn >= walk.places())
                        continue;
                    const Subnet at = walk.at(turn);
                    CHECK(walk.turn_of(at) == turn);
                    CHECK(routed(pool).base <= at.base);
                    CHECK(at.base <= routed(pool).last());
                }
            }
            const Subnet first{routed(pool).base};
            CHECK(walk.at(walk.turn_of(first)) == first);
        }
    }
}

TEST_CASE("a routed range is jumped over whole, in one step")
{
    Walk walk = a_walk("8.0.0.0/5", 0x800000);
    const auto first = walk.next();
    REQUIRE(first);
    CHECK(first->text() == "10.0.0.0/30");
    walk.jump_over(routed("10.0.0.0/8"));
    const auto second = walk.next();
    REQUIRE(second);
    CHECK(second->text() == "11.0.0.0/30");
    CHECK(walk.steps() == 2);
}

TEST_CASE("a thousand ranges in the way cost a thousand steps, and a pool that is routed one")
{
    std::vector<RoutedRange> taken;
    for (std::uint32_t i = 0; i < 1000; ++i)
        taken.push_back({0xc6120000U + i * 256, 24, 2});
    const Walked among = walked("198.18.0.0/15", 0, taken);
    CHECK(among.free.empty()); // 512 of them are the whole pool
    CHECK(among.steps == 512);
    const Walked within = walked("198.18.0.0/15", 77, {routed("198.0.0.0/8")});
    CHECK(within.free.empty());
    CHECK(within.steps == 1);
    const Walked everything = walked("0.0.0.0/0", 77, {{0x80000000U, 1, 2}, {0, 1, 2}});
    CHECK(everything.free.empty());
    CHECK(everything.steps <= 3);
}

TEST_CASE("what touches a single address of a subnet takes it, what touches none does not")
{
    CHECK(walked("10.0.0.0/28", 0, {routed("10.0.0.5/32")}).free ==
          std::vector<std::string>{"10.0.0.0/30", "10.0.0.8/30", "10.0.0.12/30"});
    CHECK(walked("10.0.0.0/28", 3,
                 {routed("10.0.0.0/29"), routed("10.0.0.16/28"), routed("9.255.255.255/32")})
              .free == std::vector<std::string>{"10.0.0.12/30", "10.0.0.8/30"});
    CHECK(
        walked("255.255.255.240/28", 1, {routed("255.255.255.255/32")}).free ==
        std::vector<std::string>{"255.255.255.244/30", "255.255.255.248/30", "255.255.255.240/30"});
}

TEST_CASE("a pool without room for a /30, or of IPv6, is refused")
{
    for (const char* pool : {"10.0.0.0/31", "10.0.0.1/32", "fd00::/8"}) {
        const auto walk = Walk::through(a_pool(pool), key_of(0));
        REQUIRE(!walk);
        CHECK(walk.error().code == Code::invalid_policy);
        CHECK(walk.error().what == "the pool " + std::string(pool) + " has no room for a /30");
    }
}

TEST_CASE("a reservation is there until its run releases it")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    const RunKey one = key_of(0);
    const RunKey other = key_of(2); // key 2 chooses the same of two places
    CHECK(reserved(state, one, "10.0.0.0/29") == "10.0.0.0/30");
    CHECK(reserved(state, other, "10.0.0.0/29") == "10.0.0.4/30");
    CHECK(holds_of(state) ==
          std::vector<SubnetReservation>{{subnet("10.0.0.0/30"), one.text(), a_generation},
                                         {subnet("10.0.0.4/30"), other.text(), a_generation}});
    CHECK(found_by(state, other) == "10.0.0.4/30");
    CHECK(release_subnet(state, other, a_generation, subnet("10.0.0.0/30")));
    CHECK(release_subnet(state, one, "another generation", subnet("10.0.0.0/30")));
    CHECK(holds_of(state).size() == 2);
    CHECK(release_subnet(state, one, a_generation, subnet("10.0.0.0/30")));
    CHECK(release_subnet(state, one, a_generation, subnet("10.0.0.0/30")));
    CHECK(found_by(state, one) == "none");
    CHECK(names_in(state.path() + "/subnets") == std::vector<std::string>{"10.0.0.4"});
    CHECK(reserved(state, key_of(4), "10.0.0.0/29") == "10.0.0.0/30");
}

TEST_CASE("what a crash left of this very run is taken over, by its new generation")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    const RunKey key = key_of(1);
    REQUIRE(reserve_subnet(state, key, "old", a_pool("10.0.0.0/29"), asked({})));
    CHECK(reserved(state, key, "10.0.0.0/29") == "10.0.0.4/30");
    CHECK(reserved(state, key, "10.0.0.0/29") == "10.0.0.4/30");
    CHECK(holds_of(state) ==
          std::vector<SubnetReservation>{{subnet("10.0.0.4/30"), key.text(), a_generation}});
}

TEST_CASE("a subnet whose link outlived its reservation is not given away")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    CHECK(reserved(state, key_of(0), "10.0.0.0/29", {routed("10.0.0.0/30", 9)}) == "10.0.0.4/30");
}

TEST_CASE("what is routed is not kept, and what others hold is not asked about")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    REQUIRE(reserved(state, key_of(0), "10.0.0.0/28") == "10.0.0.0/30");
    std::vector<std::string> questions;
    const auto routes = [&](const Subnet& one) {
        questions.push_back(one.text());
        return asked({routed("10.0.0.4/30")})(one);
    };
    const auto got = reserve_subnet(state, key_of(4), a_generation, a_pool("10.0.0.0/28"), routes);
    REQUIRE(got);
    CHECK(got->text() == "10.0.0.8/30");
    CHECK(questions == std::vector<std::string>{"10.0.0.4/30", "10.0.0.8/30"});
    CHECK(names_in(state.path() + "/subnets") == std::vector<std::string>{"10.0.0.0", "10.0.0.8"});
}

TEST_CASE("a question that has no answer leaves nothing held")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    const auto broken = [](const Subnet&) -> Result<std::optional<RoutedRange>> {
        return fail(Code::network_setup_failed, "read the routes: broken attributes");
    };
    const auto got = reserve_subnet(state, key_of(0), a_generation, a_pool("10.0.0.0/29"), broken);
    REQUIRE(!got);
    CHECK(got.error().what == "reserve a subnet: read the routes: broken attributes");
    CHECK(holds_of(state).empty());
}

TEST_CASE("who finds nothing is told whether it is the routes, the runs, or both")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    const RunKey key = key_of(0);
    CHECK(reserved(state, key, "10.0.0.0/29", {routed("10.0.0.0/8"), routed("10.0.0.0/30")}) ==
          "every subnet of the pool 10.0.0.0/29 is routed: 10.0.0.0/8");
    std::vector<RoutedRange> many;
    for (std::uint32_t i = 0; i < 8; ++i)
        many.push_back({0x0a000000U + 4 * i, 30, 2});
    many.push_back(routed("172.16.0.0/12"));
    CHECK(reserved(state, key, "10.0.0.0/27", many) ==
          "every subnet of the pool 10.0.0.0/27 is routed: 10.0.0.0/30, 10.0.0.4/30, 10.0.0.8/30, "
          "10.0.0.12/30, 10.0.0.16/30 and 3 more");
    REQUIRE(reserved(state, key, "10.0.0.0/29") == "10.0.0.0/30");
    CHECK(reserved(state, key_of(1), "10.0.0.0/30") ==
          "the pool 10.0.0.0/30 is used up: 1 run is live");
    // The link of a live run has routes, which are its own.
    const std::vector<RoutedRange> links = {routed("10.0.0.0/30", 5), routed("10.0.0.1/32", 5),
                                            routed("10.0.0.3/32", 5)};
    CHECK(reserved(state, key_of(1), "10.0.0.0/30", links) ==
          "the pool 10.0.0.0/30 is used up: 1 run is live");
    CHECK(reserved(state, key_of(1), "10.0.0.0/29", {routed("10.0.0.0/29"), links[0]}) ==
          "the pool 10.0.0.0/29 is used up: 1 run is live, and the rest is routed: 10.0.0.0/29");
    REQUIRE(reserved(state, key_of(1), "10.0.0.0/29", links) == "10.0.0.4/30");
    CHECK(reserved(state, key_of(2), "10.0.0.0/29", links) ==
          "the pool 10.0.0.0/29 is used up: 2 runs are live");
    CHECK(reserved(state, key_of(2), "10.0.0.0/28", {routed("10.0.0.8/29"), links[0]}) ==
          "the pool 10.0.0.0/28 is used up: 2 runs are live, and the rest is routed: 10.0.0.8/29");
    CHECK(reserved(state, key_of(2), "10.1.0.0/29", {routed("10.1.0.0/16")}) ==
          // The reservations lie elsewhere.
          "every subnet of the pool 10.1.0.0/29 is routed: 10.1.0.0/16");
}

TEST_CASE("a broken directory of reservations is told, with routes in play too")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    const std::string folder = state.path() + "/subnets";
    std::filesystem::remove(folder);
    CHECK(reserved(state, key_of(0), "10.0.0.0/29", {routed("10.0.0.0/8")}) ==
          "reserve a subnet: make the reservation " + folder +
              "/10.0.0.0: it is not there (ENOENT)");
    CHECK(found_by(state, key_of(0)) == "open directory " + folder + ": it is not there (ENOENT)");
    scratch.file("state/subnets");
    CHECK(reserved(state, key_of(0), "10.0.0.0/29", {routed("10.0.0.0/8")}) ==
          "reserve a subnet: make the reservation " + folder +
              "/10.0.0.0: not a directory (ENOTDIR)");
    CHECK(found_by(state, key_of(0)) == "open directory " + folder + ": not a directory (ENOTDIR)");
    std::filesystem::remove(folder);
    scratch.folder("state/subnets");
    scratch.file("state/subnets/10.0.0.0");
    CHECK(reserved(state, key_of(0), "10.0.0.0/29") ==
          "reserve a subnet: " + folder + "/10.0.0.0 is no reservation; remove it");
    CHECK(holds_of(state).empty());
}

TEST_CASE("eight processes that reserve at once never share a subnet")
{
    constexpr int processes = 8;
    constexpr int each = 50;
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    // There are 512 places, and keys that begin at only 8 of them, so the processes meet all the
    // time.
    std::vector<pid_t> children;
    for (int process = 0; process < processes; ++process) {
        const pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            std::string got;
            for (int run = 0; run < each; ++run) {
                const auto number = static_cast<std::uint64_t>(process * each + run) * 64;
                got += reserved(state, key_of(number), "10.0.0.0/21") + "\n";
            }
            const auto written = files::replace_file(scratch / std::to_string(process), got, 0600);
            ::_exit(written ? 0 : 1);
        }
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = -1;
        REQUIRE(::waitpid(child, &status, 0) == child);
        CHECK(status == 0);
    }
    std::multiset<std::string> handed_out;
    for (int process = 0; process < processes; ++process) {
        std::ifstream file(scratch / std::to_string(process));
        for (std::string line; std::getline(file, line);)
            handed_out.insert(line);
    }
    std::multiset<std::string> held;
    std::set<std::string> owners;
    for (const SubnetReservation& hold : holds_of(state)) {
        held.insert(hold.subnet.text());
        owners.insert(hold.key);
    }
    CHECK(handed_out == held);
    CHECK(held.size() == processes * each);
    CHECK(owners.size() == processes * each);
}

} // namespace anchorhold::subnets_test
