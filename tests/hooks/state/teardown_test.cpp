// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/names_file.hpp"
#include "hooks/state/teardown.hpp"
#include "schema/rules/names_table.hpp"
#include "schema/sha256.hpp"
#include "tests/hooks/state/torn.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

namespace anchorhold::teardown_test {

TEST_CASE("over all states and owners: what has a live owner stays, all else goes and is recorded")
{
    for (const RunState was : every_state)
        for (const bool creator_lives : {false, true})
            for (const bool init_lives : {false, true}) {
                const Scratch scratch;
                const StateDir state = open_state(scratch);
                Record record = a_record(was);
                record.creator = creator_lives ? ourselves() : somebody_gone();
                record.init = init_lives ? ourselves() : somebody_gone();
                put(state, record);
                const auto before = whole(state);
                const bool owned = was == RunState::enforced ? init_lives
                                   : was == RunState::ended  ? false
                                                             : creator_lives;
                CAPTURE(was);
                CAPTURE(owned);
                if (owned) {
                    CHECK(torn(state) == TeardownOutcome::still_owned);
                    CHECK(swept(state, Sweep::remove).removed.empty());
                    CHECK(whole(state) == before);
                    continue;
                }
                CHECK(torn(state) == TeardownOutcome::removed);
                check_nothing_left(state);
                const bool held = was == RunState::enforced || was == RunState::ended;
                CHECK(last_record(state).state == (held ? RunState::ended : RunState::failed));
                CHECK(last_record(state).ended > 0);
                CHECK(torn(state) == TeardownOutcome::nothing_there);
            }
}

TEST_CASE("the last record says that a broker was lost where that ends a run")
{
    for (const bool stops : {false, true})
        for (const RunState was : {RunState::enforced, RunState::failed})
            for (const Serves serves : {Serves::yes, Serves::no}) {
                const Scratch scratch;
                const StateDir state = open_state(scratch);
                const UniqueFd broker = unix_socket(scratch / "broker.sock", serves);
                Record record = a_record(was);
                record.creator = somebody_gone();
                record.on_broker_lost = stops ? "stop" : "";
                const std::string path = scratch / "broker.sock";
                record.endpoints = {{"model", *Port::from(8080, Code::invalid_request),
                                     *parse_target("unix:" + path, Code::invalid_request)}};
                put(state, record);
                CHECK(torn(state) == TeardownOutcome::removed);
                const bool lost = stops && was == RunState::enforced && serves == Serves::no;
                const std::string added = "broker lost: nobody listens at " + path +
                                          " for endpoint model, seen at teardown";
                CHECK(last_record(state).reason ==
                      (lost ? record.reason + (record.reason.empty() ? "" : "; ") + added
                            : record.reason));
            }
}

TEST_CASE("a broker whose socket is gone is lost too")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    Record record = a_record(RunState::enforced);
    record.on_broker_lost = "stop";
    record.endpoints = {{"model", *Port::from(8080, Code::invalid_request),
                         *parse_target("unix:" + (scratch / "none/b"), Code::invalid_request)}};
    put(state, record);
    CHECK(torn(state) == TeardownOutcome::removed);
    CHECK(last_record(state).reason == "broker lost: nobody listens at " + (scratch / "none/b") +
                                           " for endpoint model, seen at teardown");
}

TEST_CASE("the last record says which names were refused, where they were counted")
{
    for (const bool counted : {false, true}) {
        const Scratch scratch;
        const StateDir state = open_state(scratch);
        put(state, a_record(RunState::enforced));
        {
            const auto file = make_names_file(state, a_key());
            REQUIRE(file);
            if (counted)
                REQUIRE(::pwrite(file->get(), rules::names_magic, sizeof rules::names_magic, 0) ==
                        sizeof rules::names_magic);
        }
        CHECK_FALSE(make_names_file(state, a_key())); // only once
        CHECK(torn(state) == TeardownOutcome::removed);
        check_nothing_left(state);
        CHECK(last_record(state).refused_names.has_value() == counted);
    }
}

TEST_CASE("a pid that another process has now is no owner")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    Record record = a_record(RunState::enforced);
    record.init = {ourselves().pid, ourselves().start + 1};
    put(state, record);
    CHECK(torn(state) == TeardownOutcome::removed);
}

TEST_CASE("another generation than asked for is not touched")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    put(state, a_record(RunState::enforced));
    const auto before = whole(state);
    CHECK(torn(state, "ffffffffffffffff") == TeardownOutcome::foreign);
    CHECK(whole(state) == before);
    CHECK(torn(state, a_generation) == TeardownOutcome::removed);
}

TEST_CASE("nothing there is nothing there, any number of times, and leaves no lock")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    CHECK(torn(state) == TeardownOutcome::nothing_there);
    CHECK(torn(state, a_generation) == TeardownOutcome::nothing_there);
    check_nothing_left(state);
    // Left by a process that was killed as it released the lock.
    scratch.file("state/locks/" + a_key().text(), 0600);
    CHECK(torn(state) == TeardownOutcome::nothing_there);
    check_nothing_left(state);
}

TEST_CASE("a folder that never got its record is a crash's, unless its lock is held")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    REQUIRE(state.make_run(a_key()));
    {
        const auto creator = RunLock::take(state, a_key());
        REQUIRE(creator);
        CHECK(swept(state, Sweep::remove).removed.empty());
        CHECK(swept(state, Sweep::dry_run).removed.empty());
        CHECK(std::filesystem::exists(state.inside_path(a_key())));
    }
    CHECK(swept(state, Sweep::remove).removed == std::vector{a_key().text()});
    check_nothing_left(state);
    CHECK(names_in(state.path() + "/ended").empty());
}

TEST_CASE("a dry run says what would go and changes nothing")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    Record dead = a_record(RunState::planned, 0);
    dead.creator = somebody_gone();
    put(state, dead);
    put(state, a_record(RunState::planned, 1));
    put(state, a_record(RunState::enforced, 2));
    REQUIRE(state.make_run(a_key(3)));
    const auto before = whole(state);
    const SweepResult dry = swept(state, Sweep::dry_run);
    CHECK(dry.removed == std::vector{a_key(0).text(), a_key(2).text(), a_key(3).text()});
    CHECK(dry.looked_at == 4);
    CHECK(whole(state) == before);
    CHECK(swept(state, Sweep::remove).removed == dry.removed);
    CHECK(names_in(state.path() + "/runs") == std::vector{a_key(1).text()});
}

TEST_CASE("a limited sweep comes round to every run in the end")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    for (int which = 0; which < 9; ++which)
        put(state, a_record(RunState::planned, which)); // owned by us
    put(state, a_record(RunState::enforced, 9));
    int sweeps = 0;
    while (!names_in(state.path() + "/ended").size() && sweeps < 1000) {
        CHECK(swept(state, Sweep::remove, 2).looked_at == 2);
        ++sweeps;
    }
    CHECK(sweeps < 1000);
}

TEST_CASE("sweeps beside creates take nothing that is being made, and leave nothing")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    constexpr int creators = 2;
    constexpr int rounds = 150;
    const auto create = [&state](int which) {
        const ProcessIdentity us = ourselves();
        for (int round = 0; round < rounds; ++round) {
            Record record = a_record(RunState::planned, which);
            record.creator = us;
            {
                const auto lock = RunLock::take(state, a_key(which));
                if (!lock || !state.make_run(a_key(which)) || !state.write(record))
                    return 1;
            }
            const auto standing = state.read(a_key(which));
            if (!standing || !*standing)
                return 2;
            if (!abandon(state, a_key(which), a_generation, Error{}))
                return 3;
        }
        return 0;
    };
    std::vector<pid_t> children;
    for (int which = 0; which < creators; ++which) {
        const pid_t child = ::fork();
        if (child == 0)
            ::_exit(create(which));
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = 0;
        pid_t ended = 0;
        while (ended == 0) {
            CHECK(swept(state, Sweep::remove).failed.empty());
            ended = ::waitpid(child, &status, WNOHANG);
        }
        CHECK(ended == child);
        CHECK(status == 0);
    }
    check_nothing_left(state);
}

TEST_CASE("locks of the killed go with a sweep")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    scratch.file("state/locks/" + a_key(5).text(), 0600);
    swept(state, Sweep::dry_run);
    CHECK(names_in(state.path() + "/locks").size() == 1);
    swept(state, Sweep::remove);
    check_nothing_left(state);
}

TEST_CASE("a creator that was killed is said to be the reason")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    Record record = a_record(RunState::planned);
    record.creator = somebody_gone();
    put(state, record);
    CHECK(torn(state) == TeardownOutcome::removed);
    CHECK(last_record(state).code == "delegate_failed");
    CHECK(last_record(state).reason ==
          "the process that created the container was gone before it was confined");
}

TEST_CASE("a creator abandons its run whatever lives, and the hook's reason wins over its own")
{
    for (const RunState was : every_state) {
        const Scratch scratch;
        const StateDir state = open_state(scratch);
        Record record = a_record(was);
        record.init = ourselves();
        put(state, record);
        const Error reason{Code::delegate_failed, 0, "runc said no"};
        REQUIRE(abandon(state, a_key(), a_generation, reason));
        check_nothing_left(state);
        const Record last = last_record(state);
        CHECK(last.state == RunState::failed);
        const bool hook_knew = was == RunState::failed;
        CHECK(last.code == (hook_knew ? "network_setup_failed" : "delegate_failed"));
        CHECK(last.reason == (hook_knew ? "the hook's reason" : "runc said no"));
    }
}

TEST_CASE("a creator abandons only its own generation, and what it had not even recorded")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    put(state, a_record(RunState::planned));
    const auto before = whole(state);
    const Error reason{Code::delegate_failed, 0, "no"};
    REQUIRE(abandon(state, a_key(), "ffffffffffffffff", reason));
    CHECK(whole(state) == before);
    REQUIRE(state.make_run(a_key(1)));
    REQUIRE(abandon(state, a_key(1), a_generation, reason));
    CHECK(names_in(state.path() + "/runs") == std::vector{a_key(0).text()});
    REQUIRE(abandon(state, a_key(2), a_generation, reason));
}

TEST_CASE("config.json is put back on the way out")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    scratch.folder("bundle");
    std::ofstream(scratch / "bundle/config.json") << "edited";
    Record record = a_record(RunState::enforced);
    record.bundle = scratch / "bundle";
    record.config_digest = sha256_hex("edited");
    put(state, record);
    std::ofstream(state.run_path(a_key()) + "/config.json") << "original";
    scratch.folder("bundle/.config.json.anchorhold"); // stands where the temporary file would be
    CHECK(!teardown(state, a_key(), {}));
    const auto kept = state.read(a_key());
    REQUIRE(kept);
    REQUIRE(*kept);
    CHECK((*kept)->reason == "write beside config.json: file exists (EEXIST)");
    std::filesystem::remove(scratch / "bundle/.config.json.anchorhold");
    CHECK(torn(state) == TeardownOutcome::removed);
    std::ifstream file(scratch / "bundle/config.json");
    CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == "original");
    check_nothing_left(state);
}

} // namespace anchorhold::teardown_test
