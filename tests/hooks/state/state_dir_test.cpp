// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/state_dir.hpp"
#include "schema/file_identity.hpp"
#include "tests/hooks/state/runs.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>

namespace anchorhold::state_test {

using namespace state;
namespace {

mode_t mode_of(const std::string& path)
{
    struct stat found = {};
    REQUIRE(::lstat(path.c_str(), &found) == 0);
    return found.st_mode & 07777;
}

std::string refusal(const std::string& path)
{
    const auto state = StateDir::open(path);
    return state ? "opened" : state.error().what;
}

} // namespace

TEST_CASE("the state directory is made with its modes, whatever the umask")
{
    const Scratch scratch;
    const mode_t before = ::umask(0077);
    const StateDir state = open_state(scratch);
    const RunKey key = a_key();
    REQUIRE(state.make_run(key));
    ::umask(before);
    CHECK(mode_of(state.path()) == 0711);
    CHECK(mode_of(state.path() + "/runs") == 0700);
    CHECK(mode_of(state.path() + "/locks") == 0700);
    CHECK(mode_of(state.path() + "/ended") == 0700);
    CHECK(mode_of(state.path() + "/subnets") == 0700);
    CHECK(mode_of(state.run_path(key)) == 0700);
    CHECK(mode_of(state.inside_path(key)) == 0755);
}

TEST_CASE("a state directory that others can write is refused, and so is a part of it")
{
    const Scratch scratch;
    const std::string path = scratch.folder("state", 0777);
    CHECK(refusal(path) ==
          "open the state directory: " + path + " is writable by others; chmod go-w it");
    REQUIRE(::chmod(path.c_str(), 0755) == 0);
    scratch.folder("state/runs", 0770);
    CHECK(refusal(path).ends_with("/runs is writable by others; chmod go-w it"));
    REQUIRE(::chmod((path + "/runs").c_str(), 0700) == 0);
    CHECK(refusal(path) == "opened");
    CHECK(refusal(path + "///") == "opened");
}

TEST_CASE("a symlink, a file and a relative path are no state directory")
{
    const Scratch scratch;
    scratch.folder("state");
    std::filesystem::create_symlink(scratch / "state", scratch / "link");
    CHECK(refusal(scratch / "link") != "opened");
    CHECK(refusal(scratch.file("file")) != "opened");
    for (const char* path : {"", "/", "state", "./state"})
        CHECK(refusal(path) == "open the state directory: \"" + std::string(path) +
                                   "\" is not an absolute path of its own");
}

TEST_CASE("a state directory that is not there is only looked for, not made")
{
    const Scratch scratch;
    const auto none = StateDir::existing(scratch / "state");
    REQUIRE(none);
    CHECK(!*none);
    CHECK(!std::filesystem::exists(scratch / "state"));
    open_state(scratch);
    const auto some = StateDir::existing(scratch / "state");
    REQUIRE(some);
    CHECK(*some);
}

TEST_CASE("a record comes back as it was written, readable by its owner alone")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    const Record record = a_record(RunState::planned);
    const RunKey key = a_key();
    auto read = state.read(key);
    REQUIRE(read);
    CHECK(!*read);
    REQUIRE(state.make_run(key));
    REQUIRE(state.write(record));
    read = state.read(key);
    REQUIRE(read);
    REQUIRE(*read);
    CHECK((*read)->generation == record.generation);
    CHECK((*read)->creator == record.creator);
    CHECK((*read)->state == RunState::planned);
    CHECK(mode_of(state.run_path(key) + "/record.json") == 0600);
    CHECK(names_in(state.run_path(key)) ==
          std::vector<std::string>{"inside", "pidns", "record.json"});
}

TEST_CASE("a record under another run's key, and one that is none, are errors")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    REQUIRE(state.make_run(a_key()));
    REQUIRE(state.write(a_record(RunState::planned)));
    const RunKey other = a_key(1);
    std::filesystem::rename(state.run_path(a_key()), state.run_path(other));
    const auto read = state.read(other);
    REQUIRE(!read);
    CHECK(read.error().what == "read the record of run " + other.text() + ": it is another run's");
    std::ofstream(state.run_path(other) + "/record.json") << "{";
    CHECK(!state.read(other));
}

TEST_CASE("those who live in a namespace are the enforced of it whose first process lives")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    const FileIdentity here{4, 4026532001};
    const auto put = [&](int which, RunState now, FileIdentity netns, ProcessIdentity init) {
        Record record = a_record(now, which);
        record.netns = netns;
        record.init = init;
        REQUIRE(state.make_run(a_key(which)));
        REQUIRE(state.write(record));
    };
    put(0, RunState::enforced, here, ourselves());
    put(1, RunState::enforced, here, somebody_gone());
    put(2, RunState::enforced, {4, 4026532002}, ourselves());
    put(3, RunState::enforced, {5, here.inode}, ourselves());
    put(4, RunState::planned, here, ourselves());
    put(5, RunState::enforced, here, ourselves());
    put(6, RunState::enforced, here, ourselves());
    std::ofstream(state.run_path(a_key(5)) + "/record.json") << '"' << here.text() << '"';
    std::filesystem::copy(state.run_path(a_key(0)) + "/record.json", // of another run
                          state.run_path(a_key(6)) + "/record.json",
                          std::filesystem::copy_options::overwrite_existing);
    REQUIRE(state.make_run(a_key(7))); // without a record
    const auto living = state.living_in(here);
    REQUIRE(living);
    REQUIRE(living->size() == 1);
    CHECK(living->front().key == a_key(0).text());
}

TEST_CASE("an older generation's folder is replaced, with all that was in it")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    REQUIRE(state.make_run(a_key()));
    REQUIRE(state.write(a_record(RunState::ended)));
    std::ofstream(state.inside_path(a_key()) + "/enforced") << "old\n";
    REQUIRE(state.make_run(a_key()));
    CHECK(names_in(state.run_path(a_key())) == std::vector<std::string>{"inside", "pidns"});
    CHECK(names_in(state.inside_path(a_key())).empty());
}

TEST_CASE("removing a run follows no symlink out of its folder")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    scratch.folder("outside");
    scratch.file("outside/kept");
    REQUIRE(state.make_run(a_key()));
    std::filesystem::create_symlink(scratch / "outside", state.inside_path(a_key()) + "/link");
    REQUIRE(state.remove_run(a_key()));
    REQUIRE(state.remove_run(a_key()));
    CHECK(std::filesystem::exists(scratch / "outside/kept"));
    CHECK(names_in(state.path() + "/runs").empty());
}

TEST_CASE("runs are listed in order, what is no run's folder is left out")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    for (int which : {2, 0, 1})
        REQUIRE(state.make_run(a_key(which)));
    scratch.folder("state/runs/something-else");
    const auto runs = state.runs();
    REQUIRE(runs);
    CHECK(*runs == std::vector{a_key(0), a_key(1), a_key(2)});
}

TEST_CASE("the ended are kept for a day, and not more than 256 of them")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    const std::string ended = state.path() + "/ended/";
    const auto older_by = [&ended](int seconds, int which) {
        write_older(ended + ended_name(which), seconds);
    };
    older_by(25 * 3600, 1001);
    older_by(23 * 3600, 1002);
    REQUIRE(state.make_run(a_key()));
    REQUIRE(state.archive(a_record(RunState::ended)));
    REQUIRE(state.drop_old_ended());
    CHECK(names_in(ended) == std::vector<std::string>{ended_name(0), ended_name(1002)});
    for (int i = 0; i < 256 + 30; ++i)
        older_by(1000 + i, 2000 + i);
    REQUIRE(state.archive(a_record(RunState::ended)));
    CHECK(names_in(ended).size() == 288); // a few more do not matter, and are cheaper than a look
    older_by(1000, 1003);
    REQUIRE(state.archive(a_record(RunState::ended)));
    const auto names = names_in(ended);
    CHECK(names.size() == 256);
    CHECK(!std::filesystem::exists(ended + ended_name(1002)));
    CHECK(!std::filesystem::exists(ended + ended_name(2254)));
    CHECK(std::filesystem::exists(ended + ended_name(2253)));
    CHECK(std::filesystem::exists(ended + ended_name(0)));
    CHECK(names_in(state.run_path(a_key())) == std::vector<std::string>{"inside", "pidns"});
}

TEST_CASE("the ended are shown newest first; what cannot be read is skipped")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    for (int which : {0, 1, 2}) {
        Record record = a_record(RunState::ended, which);
        record.ended = 100 + (which * 7) % 5;
        REQUIRE(state.make_run(a_key(which)));
        REQUIRE(state.archive(record));
    }
    std::ofstream(state.path() + "/ended/" + ended_name(9)) << "{";
    const auto ended = state.ended();
    REQUIRE(ended);
    std::vector<std::int64_t> times;
    for (const Record& record : *ended)
        times.push_back(record.ended);
    CHECK(times == std::vector<std::int64_t>{104, 102, 100});
}

TEST_CASE("a run's lock is one of its own, and leaves no file")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    {
        const auto lock = RunLock::take(state, a_key());
        REQUIRE(lock);
        const auto second = RunLock::try_take(state, a_key());
        REQUIRE(second);
        CHECK(!*second);
        const auto late = RunLock::take(state, a_key(), std::chrono::milliseconds(0));
        REQUIRE(!late);
        CHECK(late.error().number == ETIMEDOUT);
        const auto other = RunLock::try_take(state, a_key(1));
        REQUIRE(other);
        CHECK(*other);
        REQUIRE(state.drop_dead_locks());
        CHECK(names_in(state.path() + "/locks").size() == 2);
    }
    CHECK(names_in(state.path() + "/locks").empty());
    scratch.file("state/locks/" + a_key().text(), 0600);
    scratch.file("state/locks/probes", 0600);
    REQUIRE(state.drop_dead_locks());
    CHECK(names_in(state.path() + "/locks").empty());
}

} // namespace anchorhold::state_test
