// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/ended_records.hpp"

#include "tests/hooks/state/torn.hpp"

#include <doctest/doctest.h>

namespace anchorhold::ended_records_test {
namespace {

using namespace teardown_test;

// Returns an enforced run without an owner whose record is to be kept in `folder`.
Record kept_in(const std::string& folder, int which = 0)
{
    Record record = a_record(RunState::enforced, which);
    record.records = folder;
    return record;
}

std::string last_advice(const StateDir& state)
{
    const Record record = last_record(state);
    return record.advice.empty() ? "" : record.advice.back();
}

} // namespace

TEST_CASE("a run's last record is kept where its record says, in a folder made for it")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    const std::string kept = scratch / "kept";
    put(state, kept_in(kept));
    CHECK(torn(state) == TeardownOutcome::removed);
    struct stat made = {};
    REQUIRE(::stat(kept.c_str(), &made) == 0);
    CHECK((made.st_mode & 07777) == 0700);
    const auto found = read_ended(kept);
    REQUIRE(found);
    REQUIRE(found->size() == 1);
    CHECK(found->front().record == last_record(state));
    CHECK(found->front().record.state == RunState::ended);
    put(state, a_record(RunState::enforced, 1)); // control: no word of it, no copy
    CHECK(torn(state, {}, 1) == TeardownOutcome::removed);
    CHECK(names_in(kept) == std::vector<std::string>{ended_name(0)});
}

TEST_CASE("a folder that cannot take the record holds up no teardown, and the record says why")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    std::string says;
    std::string folder = scratch / "kept";
    SUBCASE("there is none to make it in")
    {
        folder = scratch / "missing/kept";
        says = "make directory " + folder + ": no file or directory of that name";
    }
    SUBCASE("it is a file")
    {
        std::ofstream(folder) << "x";
        says = "look at " + folder;
    }
    SUBCASE("others may write to it")
    {
        std::filesystem::create_directory(folder);
        REQUIRE(::chmod(folder.c_str(), 0777) == 0);
        says = folder + " is writable by others; chmod go-w it";
    }
    SUBCASE("it is a symbolic link")
    {
        std::filesystem::create_directory(scratch / "elsewhere");
        std::filesystem::create_symlink(scratch / "elsewhere", folder);
        says = "look at " + folder;
    }
    put(state, kept_in(folder));
    const SweepResult result = swept(state, Sweep::remove);
    CHECK(result.removed == std::vector<std::string>{a_key().text()});
    CHECK(result.failed.empty());
    CHECK(result.left == std::vector<std::string>{a_key().text() + ": its record is not kept; "
                                                                   "anchorhold show says why"});
    check_nothing_left(state);
    CHECK_MESSAGE(last_advice(state).starts_with("this record is not kept in " + folder + ": "),
                  last_advice(state));
    CHECK_MESSAGE(last_advice(state).contains(says.substr(0, says.find(": no file"))),
                  last_advice(state));
}

TEST_CASE("the folder holds the newest 4096 records, and whatever else was there")
{
    const Scratch scratch;
    const StateDir state = open_state(scratch);
    const std::string kept = scratch / "kept";
    std::filesystem::create_directory(kept);
    const int old = 30 * 86400; // age does not count
    for (int i = 0; i < 4096 + 127; ++i)
        write_older(kept + "/" + ended_name(1000 + i), old + i);
    const std::vector<std::string> others{"notes.json", "000000000001.json", "readme.new"};
    for (const std::string& name : others)
        write_older(kept + "/" + name, 10 * old);
    put(state, kept_in(kept, 0));
    CHECK(torn(state) == TeardownOutcome::removed);
    CHECK(names_in(kept).size() == 4096 + 128 + others.size());
    put(state, kept_in(kept, 1));
    CHECK(torn(state, {}, 1) == TeardownOutcome::removed);
    CHECK(names_in(kept).size() == 4096 + others.size());
    for (const std::string& name : others)
        CHECK_MESSAGE(std::filesystem::exists(kept + "/" + name), name);
    CHECK(std::filesystem::exists(kept + "/" + ended_name(0)));
    CHECK(std::filesystem::exists(kept + "/" + ended_name(1)));
    CHECK(std::filesystem::exists(kept + "/" + ended_name(1000 + 4093)));
    CHECK(!std::filesystem::exists(kept + "/" + ended_name(1000 + 4094)));
}

TEST_CASE("a run that is in two folders is listed once, as the first has it")
{
    const auto ended_at = [](int which, std::int64_t when, const char* reason) {
        Record record = a_record(RunState::ended, which);
        record.ended = when;
        record.reason = reason;
        return EndedRecord{record, when};
    };
    const auto listed = newest_first({ended_at(0, 100, "first"), ended_at(1, 300, "only here"),
                                      ended_at(0, 100, "second"), ended_at(2, 200, "only there")});
    std::vector<std::string> reasons;
    for (const Record& record : listed)
        reasons.push_back(record.reason);
    CHECK(reasons == std::vector<std::string>{"only here", "only there", "first"});
}

TEST_CASE("only KEY.GENERATION.json is the name of an ended record")
{
    CHECK(is_ended_name("0123456789ab.0123456789abcdef.json"));
    for (const char* name :
         {"", "0123456789ab.0123456789abcdef.json.new", "0123456789ab.0123456789abcde.json",
          "0123456789aB.0123456789abcdef.json", "0123456789ab.0123456789abcdeF.json",
          "0123456789ab-0123456789abcdef.json", "passwd"})
        CHECK_MESSAGE(!is_ended_name(name), name);
}

} // namespace anchorhold::ended_records_test
