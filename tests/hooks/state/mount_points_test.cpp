// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/mount_points.hpp"

#include "hooks/state/teardown.hpp"
#include "tests/hooks/state/torn.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

namespace anchorhold::mount_points_test {
namespace {

namespace fs = std::filesystem;
using namespace teardown_test;

const std::vector<std::string> of_hosts{"/etc/hosts", "/etc"};

// A root, and a state directory beside it.
struct Host {
    Scratch scratch;
    StateDir state = open_state(scratch);
    std::string root = scratch / "root";

    Host() { fs::create_directory(root); }
    std::optional<MountPoints> missing() const
    {
        return missing_mount_points(state.path(), root, {of_hosts});
    }
    std::vector<std::string> missing_paths() const
    {
        return missing().value_or(MountPoints{}).paths;
    }
    // Does what create and the runtime do.
    Record make(int which = 0) const
    {
        Record record = a_record(RunState::enforced, which);
        record.mount_points = missing();
        put(state, record);
        fs::create_directories(root + "/etc");
        if (!has("/etc/hosts"))
            write("/etc/hosts", "");
        return record;
    }
    void write(const std::string& path, std::string_view text) const
    {
        std::ofstream(root + path) << text;
    }
    bool has(const std::string& path) const { return fs::exists(fs::symlink_status(root + path)); }
};

} // namespace

TEST_CASE("what the runtime had to make is missing before and gone after the run")
{
    const Host host;
    CHECK(host.missing_paths() == of_hosts);
    host.make();
    CHECK(torn(host.state) == TeardownOutcome::removed);
    CHECK_FALSE(host.has("/etc"));
    CHECK(last_record(host.state).mount_points->paths == of_hosts);

    fs::create_directory(host.root + "/etc");
    CHECK(host.missing_paths() == std::vector<std::string>{"/etc/hosts"});
    host.make();
    CHECK(torn(host.state) == TeardownOutcome::removed);
    CHECK(host.has("/etc"));
    CHECK_FALSE(host.has("/etc/hosts"));
}

TEST_CASE("of two files each is looked for, and both go before the directory")
{
    const Host host;
    const std::vector<std::string> of_names{"/etc/resolv.conf", "/etc"};
    const auto missing = [&] {
        return missing_mount_points(host.state.path(), host.root, {of_hosts, of_names})
            .value_or(MountPoints{});
    };
    CHECK(missing().paths == std::vector<std::string>{"/etc/hosts", "/etc/resolv.conf", "/etc"});
    Record record = a_record(RunState::enforced);
    record.mount_points = missing();
    put(host.state, record);
    fs::create_directory(host.root + "/etc");
    host.write("/etc/hosts", "");
    host.write("/etc/resolv.conf", "");
    SUBCASE("both are empty still")
    {
        CHECK(torn(host.state) == TeardownOutcome::removed);
        CHECK_FALSE(host.has("/etc"));
    }
    SUBCASE("one was filled: it stays, the other goes")
    {
        host.write("/etc/hosts", "127.0.0.1 mine\n");
        CHECK(torn(host.state) == TeardownOutcome::removed);
        CHECK(host.has("/etc/hosts"));
        CHECK_FALSE(host.has("/etc/resolv.conf"));
    }
}

TEST_CASE("what was there before, empty or not, is nobody's to remove")
{
    for (const char* text : {"", "127.0.0.1 localhost\n"}) {
        const Host host;
        fs::create_directory(host.root + "/etc");
        host.write("/etc/hosts", text);
        CHECK_FALSE(host.missing());
        host.make();
        CHECK(torn(host.state) == TeardownOutcome::removed);
        CHECK(host.has("/etc/hosts"));
    }
}

TEST_CASE("what somebody filled or replaced since stays")
{
    const auto stays = [](const auto& change) {
        const Host host;
        host.make();
        change(host);
        CHECK(torn(host.state) == TeardownOutcome::removed);
        return host.has("/etc/hosts");
    };
    CHECK_FALSE(stays([](const Host&) {}));
    CHECK(stays([](const Host& host) { host.write("/etc/hosts", "127.0.0.1 localhost\n"); }));
    CHECK(stays([](const Host& host) {
        fs::remove(host.root + "/etc/hosts");
        fs::create_directory(host.root + "/etc/hosts");
    }));
    CHECK(stays([](const Host& host) {
        fs::remove(host.root + "/etc/hosts");
        host.write("/empty", "");
        fs::create_symlink("../empty", host.root + "/etc/hosts");
    }));
    CHECK(stays([](const Host& host) { // a link on the way
        fs::rename(host.root + "/etc", host.root + "/other");
        fs::create_symlink("other", host.root + "/etc");
    }));
    CHECK(stays([](const Host& host) { // another root
        fs::copy(host.root, host.root + ".new", fs::copy_options::recursive);
        fs::rename(host.root, host.root + ".old");
        fs::rename(host.root + ".new", host.root);
    }));
    const Host host;
    host.make();
    host.write("/etc/passwd", "");
    CHECK(torn(host.state) == TeardownOutcome::removed);
    CHECK(host.has("/etc/passwd"));
    CHECK_FALSE(host.has("/etc/hosts"));
}

TEST_CASE("of several runs in one root the last one removes it")
{
    const Host host;
    const Record first = host.make(0);
    const Record second = host.make(1);
    CHECK(second.mount_points == first.mount_points);
    CHECK(torn(host.state, {}, 0) == TeardownOutcome::removed);
    CHECK(host.has("/etc/hosts"));
    CHECK(host.make(2).mount_points == first.mount_points);
    CHECK(torn(host.state, {}, 1) == TeardownOutcome::removed);
    CHECK(host.has("/etc/hosts"));
    CHECK(torn(host.state, {}, 2) == TeardownOutcome::removed);
    CHECK_FALSE(host.has("/etc"));
}

TEST_CASE(
    "a link where the mount point should be is the image's, and where it leads is not looked at")
{
    const Host host;
    fs::create_directory(host.root + "/etc");
    fs::create_symlink("/nowhere", host.root + "/etc/hosts");
    CHECK_FALSE(host.missing());
    CHECK_FALSE(missing_mount_points(host.state.path(), host.root + "/none", {of_hosts}));
}

} // namespace anchorhold::mount_points_test
