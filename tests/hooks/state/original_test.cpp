// SPDX-License-Identifier: Apache-2.0
// The undo of an edit lives as long as the edit: in the bundle, beside what it restores.
#include "hooks/state/original.hpp"
#include "schema/sha256.hpp"
#include "tests/hooks/state/runs.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>

namespace anchorhold::original_test {

using namespace state;
namespace {

std::string contents(const std::string& path)
{
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

// A bundle whose config.json holds the edit of a run that was planned by us.
struct Edited {
    Scratch scratch;
    StateDir state = open_state(scratch);
    std::string path = scratch.folder("bundle");
    std::string config = path + "/config.json";
    UniqueFd directory{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    Record record = a_record(RunState::planned);

    explicit Edited(void (*change)(Record&) = nullptr)
    {
        record.bundle = path;
        if (change != nullptr)
            change(record);
        std::ofstream(config) << "original";
        const std::string edited = "edited " + run_name(record);
        record.config_digest = sha256_hex(edited);
        REQUIRE(state.make_run(a_key()));
        REQUIRE(keep_beside(directory.get(), record));
        REQUIRE(replace_config(directory.get(), "original", edited));
    }
    std::vector<std::string> left() const { return names_in(path); }
    Result<bool> restore() const { return restore_unrecorded(directory.get(), run_name(record)); }
};

const std::vector<std::string> only_config = {"config.json"};

} // namespace

TEST_CASE("the original lies beside the edit, and is the same file when it is put back")
{
    const Edited run;
    CHECK(run.left().size() == 2);
    CHECK(contents(run.config) == "edited " + run_name(run.record));
    REQUIRE(put_back(run.state, run.record));
    CHECK(contents(run.config) == "original");
    CHECK(run.left() == only_config);
    REQUIRE(put_back(run.state, run.record)); // any number of times
    CHECK(contents(run.config) == "original");
}

TEST_CASE("an edit that a runtime wrote anew is put back by its mark")
{
    const Edited run;
    std::ofstream(run.config) << "theirs and " << run_name(run.record);
    REQUIRE(put_back(run.state, run.record));
    CHECK(contents(run.config) == "original");
    CHECK(run.left() == only_config);
}

TEST_CASE("a file that others put in its place stays, and what we kept goes")
{
    const Edited run;
    std::ofstream(run.config) << "theirs";
    std::ofstream(run.path + "/.config.json.anchorhold") << "left by a kill";
    REQUIRE(put_back(run.state, run.record));
    CHECK(contents(run.config) == "theirs");
    CHECK(run.left() == only_config);
}

TEST_CASE("an edit whose original is gone is said, and not passed over")
{
    const Edited run;
    for (const std::string& name : run.left()) {
        if (name != "config.json")
            std::filesystem::remove(run.path + "/" + name);
    }
    const auto done = put_back(run.state, run.record);
    REQUIRE(!done);
    CHECK(done.error().what ==
          "config.json holds our edits, and its original is gone; write it anew");
}

TEST_CASE("without a record, the original of a dead run goes back, of a live one it does not")
{
    const Edited dead([](Record& record) { record.creator = somebody_gone(); });
    CHECK(dead.restore() == true);
    CHECK(contents(dead.config) == "original");
    CHECK(dead.left() == only_config);
    CHECK(dead.restore() == false);

    const Edited alive;
    REQUIRE(!alive.restore());
    CHECK(alive.restore().error().what.ends_with("whose process lives"));
    CHECK(alive.left().size() == 2);

    const Edited unseen([](Record& record) {
        record.creator = somebody_gone();
        record.host_pidns.inode += 1;
    });
    REQUIRE(!unseen.restore());
    CHECK(unseen.restore().error().what.ends_with("cannot be looked at from here"));
    CHECK(unseen.left().size() == 2);
}

TEST_CASE("what a killed run kept without having edited is dropped by the next")
{
    const Scratch scratch;
    const std::string path = scratch.folder("bundle");
    std::ofstream(path + "/config.json") << "original";
    const UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    Record record = a_record(RunState::planned, 1);
    record.creator = somebody_gone();
    REQUIRE(keep_beside(directory.get(), record));
    CHECK(names_in(path).size() == 2);
    REQUIRE(keep_beside(directory.get(), a_record(RunState::planned)));
    CHECK(names_in(path).size() == 2);
    CHECK(names_in(path)[0].contains(run_name(a_record(RunState::planned))));
}

} // namespace anchorhold::original_test
