// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/users_records.hpp"

#include "tests/hooks/state/runs.hpp"

#include <doctest/doctest.h>

namespace anchorhold::users_records_test {
namespace {

// A user's runtime directory with our state in it. As root it is given to somebody else.
struct User {
    Scratch scratch;
    uid_t uid = ::geteuid() == 0 ? 4321 : ::geteuid();
    std::string home = scratch / std::to_string(uid);
    std::string runs = home + "/anchorhold/runs";

    User() { std::filesystem::create_directories(runs); }

    void put(const RunKey& key, const std::string& text) const
    {
        std::filesystem::create_directory(runs + "/" + key.text());
        std::ofstream(runs + "/" + key.text() + "/record.json") << text;
    }

    UsersRecords read(Which which = Which::live) const
    {
        if (::geteuid() == 0) {
            REQUIRE(::chown(home.c_str(), uid, uid) == 0);
            for (const auto& entry : std::filesystem::recursive_directory_iterator(home))
                REQUIRE(::lchown(entry.path().c_str(), uid, uid) == 0);
        }
        return read_users_records(scratch.path(), which);
    }

    std::string says(const std::string& sentence) const
    {
        return "uid " + std::to_string(uid) + ": " + sentence;
    }
};

std::vector<std::string> ids(const UsersRecords& found)
{
    std::vector<std::string> all;
    for (const Record& record : found.records)
        all.push_back(record.id);
    return all;
}

// Checks that what stands in the place of a record is left out with that sentence, and that the
// user's other runs are there.
void check_left_out(const User& user, const std::string& sentence)
{
    user.put(a_key(7), to_json(a_record(RunState::enforced, 7)));
    const UsersRecords found = user.read();
    CHECK(ids(found) == std::vector<std::string>{"c7"});
    REQUIRE(found.left_out.size() == 1);
    CHECK_MESSAGE(found.left_out[0].starts_with(user.says(sentence)), found.left_out[0]);
}

} // namespace

TEST_CASE("a user's runs are listed as theirs, whatever the record says of that")
{
    const User user;
    Record record = a_record(RunState::enforced);
    record.owner = 99;
    record.seen = "as recorded";
    record.seen_at = 5;
    user.put(a_key(), to_json(record));
    const UsersRecords found = user.read();
    CHECK(found.left_out.empty());
    REQUIRE(found.records.size() == 1);
    CHECK(found.records[0].owner == user.uid);
    CHECK(found.records[0].seen.empty());
    CHECK(found.records[0].seen_at == 0);
}

TEST_CASE("a user's ended runs are listed when asked for")
{
    const User user;
    std::filesystem::create_directories(user.home + "/anchorhold/ended");
    std::ofstream(user.home + "/anchorhold/ended/" + ended_name(0))
        << to_json(a_record(RunState::ended));
    CHECK(ids(user.read(Which::ended)) == std::vector<std::string>{"c0"});
    CHECK(ids(user.read()).empty());
}

TEST_CASE("users without runs, and what is no user's directory, are passed over in silence")
{
    const User user;
    std::filesystem::remove_all(user.home + "/anchorhold");
    std::filesystem::create_directory(user.scratch / "12a");
    std::filesystem::create_directory(user.scratch / "007");
    std::filesystem::create_directory(user.scratch / "-1");
    const UsersRecords found = user.read();
    CHECK(found.records.empty());
    CHECK(found.left_out.empty());
    CHECK(read_users_records(user.scratch / "missing", Which::live).left_out.empty());
}

TEST_CASE("what is no regular file in a record's place neither hangs nor misleads")
{
    const User user;
    const std::string place = user.runs + "/" + a_key().text();
    const std::string name = a_key().text() + "/record.json";
    std::filesystem::create_directory(place);
    SUBCASE("a FIFO")
    {
        REQUIRE(::mkfifo((place + "/record.json").c_str(), 0600) == 0);
        check_left_out(user, name + " is no regular file of theirs");
    }
    SUBCASE("a link to somebody's record")
    {
        std::ofstream(user.scratch / "record.json") << to_json(a_record(RunState::enforced));
        std::filesystem::create_symlink(user.scratch / "record.json", place + "/record.json");
        check_left_out(user, "open " + name);
    }
    SUBCASE("a link in the place of the run")
    {
        std::filesystem::rename(place, user.scratch / "run");
        std::filesystem::create_symlink(user.scratch / "run", place);
        std::ofstream(user.scratch / "run/record.json") << to_json(a_record(RunState::enforced));
        check_left_out(user, "open " + name);
    }
    SUBCASE("a file without end")
    {
        std::ofstream(place + "/record.json") << "x";
        std::filesystem::resize_file(place + "/record.json", std::uintmax_t{1} << 40U);
        check_left_out(user, "read " + name);
    }
    SUBCASE("no record")
    {
        std::ofstream(place + "/record.json") << "{";
        check_left_out(user, name + ": ");
    }
    SUBCASE("another run's record")
    {
        std::ofstream(place + "/record.json") << to_json(a_record(RunState::enforced, 3));
        check_left_out(user, name + " is another run's");
    }
    SUBCASE("a folder")
    {
        std::filesystem::create_directory(place + "/record.json");
        check_left_out(user, name + " is no regular file of theirs");
    }
}

TEST_CASE("a link in the place of a user's state leads nowhere")
{
    const User user;
    std::filesystem::rename(user.home + "/anchorhold", user.scratch / "other");
    std::filesystem::create_symlink("../other", user.home + "/anchorhold");
    const UsersRecords found = user.read();
    CHECK(found.records.empty());
    REQUIRE(found.left_out.size() == 1);
    CHECK_MESSAGE(found.left_out[0].starts_with(user.says("open anchorhold/runs")),
                  found.left_out[0]);
}

TEST_CASE("of one user's runs so many are read and no more")
{
    const User user;
    for (std::size_t i = 0; i < most_users_runs + 1; ++i) {
        const auto key = RunKey::parse(ended_name(static_cast<int>(i)).substr(0, 12));
        REQUIRE(key);
        Record record = a_record(RunState::enforced);
        record.key = key->text();
        user.put(*key, to_json(record));
    }
    const UsersRecords found = user.read();
    CHECK(found.records.size() == most_users_runs);
    CHECK(found.left_out ==
          std::vector<std::string>{user.says("there are more runs than are looked at")});
}

} // namespace anchorhold::users_records_test
