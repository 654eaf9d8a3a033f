// SPDX-License-Identifier: Apache-2.0
// What was verified once is looked at again before it is told.
#include "hooks/state/seen.hpp"
#include "tests/hooks/state/runs.hpp"

#include <doctest/doctest.h>

#include <ctime>

namespace anchorhold::seen_test {

using namespace state;
namespace {

// Returns a record of an enforced run whose first process we are.
Record of_ourselves()
{
    Record record = a_record(RunState::enforced);
    record.init = ourselves();
    record.created = std::time(nullptr);
    const auto netns = namespace_of(0, "net");
    REQUIRE(netns);
    record.netns = record.host_netns = *netns;
    return record;
}

std::string seen(void (*change)(Record&))
{
    Record record = of_ourselves();
    change(record);
    return look_at_run(record);
}

void give_link(Record& record)
{
    record.technique = Technique::veth;
    record.network.emplace();
}

} // namespace

TEST_CASE("a run that stands as it was recorded is said to, with the time")
{
    Record record = of_ourselves();
    note_seen(record);
    CHECK(record.seen == as_recorded);
    CHECK(record.seen_at >= record.created);
    Record ended = a_record(RunState::ended);
    note_seen(ended);
    CHECK(ended == a_record(RunState::ended));
}

TEST_CASE("what of a record is not so any more is said")
{
    CHECK(seen([](Record& record) { record.init = somebody_gone(); }) ==
          "its first process is gone");
    CHECK(seen([](Record& record) {
              record.state = RunState::planned;
              record.creator = somebody_gone();
          }) == "the process that created it is gone");
    CHECK(seen([](Record& record) {
              record.boot_id = "11111111-2222-3333-4444-555555555555";
              record.created = 1000;
          }) == "the host was started anew");
    CHECK(seen([](Record& record) { record.host_pidns.inode += 1; }) ==
          "it was made in another pid namespace, and cannot be looked at from here");
    CHECK(seen([](Record& record) { record.netns->inode += 1; }) ==
          "its first process is in another network namespace");
    CHECK(seen(give_link) == "its link is gone");
    CHECK(seen([](Record& record) {
              give_link(record);
              record.host_netns.inode += 1;
          }) == "its link is in another network namespace, and cannot be looked at from here");
}

} // namespace anchorhold::seen_test
