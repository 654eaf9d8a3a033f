// SPDX-License-Identifier: Apache-2.0
// Teardown of runs about which little can be seen: of another pid namespace, of an earlier boot,
// with a record that cannot be read.
#include "tests/hooks/state/torn.hpp"

#include <doctest/doctest.h>

#include <ctime>

namespace anchorhold::teardown_test {

TEST_CASE("what another pid namespace recorded is left alone, whatever its boot id says")
{
    for (const RunState was : every_state)
        for (const bool other_boot : {false, true}) {
            const Scratch scratch;
            const StateDir state = open_state(scratch);
            Record record = a_record(was);
            record.creator = somebody_gone();
            record.host_pidns.inode += 1;
            record.created = std::time(nullptr);
            if (other_boot)
                record.boot_id = "11111111-2222-3333-4444-555555555555";
            put(state, record);
            const auto before = whole(state);
            CHECK(torn(state) == TeardownOutcome::foreign);
            CHECK(swept(state, Sweep::remove).removed.empty());
            CHECK(whole(state) == before);
        }
}

TEST_CASE("nothing of an earlier boot lives, in whatever pid namespace it was")
{
    for (const RunState was : every_state)
        for (const bool other_pids : {false, true}) {
            const Scratch scratch;
            const StateDir state = open_state(scratch);
            Record record = a_record(was);
            record.creator = record.init = ourselves(); // the same pid and start, by chance
            record.boot_id = "11111111-2222-3333-4444-555555555555";
            record.host_pidns.inode += other_pids ? 1 : 0;
            record.created = 1000;
            put(state, record);
            CHECK(swept(state, Sweep::remove).removed == std::vector{a_key().text()});
            check_nothing_left(state);
            CHECK(last_record(state).reason.ends_with("the host was started anew"));
        }
}

TEST_CASE("a run whose record cannot be read goes by its key, when nobody has its folder")
{
    const auto unplugged = [](const StateDir&, Record& record) -> Status {
        CHECK(record.key == a_key().text());
        CHECK(record.network.has_value());
        return {};
    };
    for (const char* text : {"{\"schema\": 99}", "{\"schema\": 1, \"key\": \"0000", ""}) {
        const Scratch scratch;
        const StateDir state = open_state(scratch);
        REQUIRE(state.make_run(a_key()));
        std::ofstream(state.run_path(a_key()) + "/record.json") << text;
        const auto result = gc(state, Sweep::remove, 0, unplugged);
        REQUIRE(result);
        CHECK(result->removed == std::vector{a_key().text()});
        check_nothing_left(state);
        CHECK(last_record(state).reason.starts_with("torn down by its key alone: read the record"));
    }
}

TEST_CASE("a run whose record cannot be read is left where it cannot be looked at, and named")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    REQUIRE(state.make_run(a_key()));
    std::ofstream(state.run_path(a_key()) + "/record.json") << "{\"schema\": 99}";
    std::filesystem::remove(state.run_path(a_key()) + "/pidns");
    std::filesystem::create_symlink("4:1", state.run_path(a_key()) + "/pidns");
    const auto before = whole(state);
    CHECK(!teardown(state, a_key()));
    const SweepResult result = swept(state, Sweep::remove);
    REQUIRE(result.failed.size() == 1);
    CHECK(result.failed[0].starts_with(a_key().text() + ": "));
    CHECK(result.failed[0].ends_with("it was made in another pid namespace"));
    CHECK(whole(state) == before);
}

} // namespace anchorhold::teardown_test
