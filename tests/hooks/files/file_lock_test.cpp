// SPDX-License-Identifier: Apache-2.0
#include "hooks/files/file_lock.hpp"
#include "tests/shim/scratch.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <thread>

namespace anchorhold::file_lock_test {

using namespace files;
namespace {

std::optional<FileLock> try_take(const std::string& path)
{
    auto lock = FileLock::try_take(path);
    REQUIRE(lock);
    return *std::move(lock);
}

} // namespace

TEST_CASE("a lock is held by one, and its file is there only meanwhile")
{
    const Scratch scratch;
    const std::string path = scratch / "lock";
    {
        const auto first = try_take(path);
        CHECK(first);
        CHECK((std::filesystem::status(path).permissions() & std::filesystem::perms::all) ==
              (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
        CHECK(!try_take(path));
        const auto waited = FileLock::take(path, std::chrono::milliseconds(1));
        REQUIRE(!waited);
        CHECK(waited.error().number == ETIMEDOUT);
    }
    CHECK(!std::filesystem::exists(path));
    CHECK(try_take(path));
}

TEST_CASE("who waits is as patient with each holder as with the first")
{
    using Clock = std::chrono::steady_clock;
    const Scratch scratch;
    const std::string path = scratch / "lock";
    constexpr std::chrono::seconds patience(1);
    const auto hold = [](const std::string& name) {
        UniqueFd file(::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        REQUIRE(::flock(file.get(), LOCK_EX | LOCK_NB) == 0);
        return file;
    };
    UniqueFd held = hold(path);
    std::atomic<bool> has_lock = false;
    std::thread waiter([&] { has_lock = FileLock::take(path, patience).has_value(); });
    // Holders follow one another, without a moment in which the waiter could come in.
    const auto end = Clock::now() + patience + patience / 4;
    while (Clock::now() < end) {
        const std::string next = path + ".next";
        UniqueFd following = hold(next);
        REQUIRE(std::rename(next.c_str(), path.c_str()) == 0);
        held = std::move(following);
        std::this_thread::sleep_for(std::chrono::milliseconds(5)); // it holds the lock for a moment
    }
    CHECK(std::filesystem::remove(path)); // the last one lets go
    held = UniqueFd();
    waiter.join();
    CHECK(has_lock);
}

TEST_CASE("a moved lock is let go once, by its last owner")
{
    const Scratch scratch;
    const std::string path = scratch / "lock";
    auto first = try_take(path);
    {
        const FileLock second = *std::move(first);
        first.reset();
        CHECK(!try_take(path));
    }
    CHECK(!std::filesystem::exists(path));
}

TEST_CASE("the lock of a killed holder is taken over")
{
    const Scratch scratch;
    const std::string path = scratch.file("lock", 0600);
    CHECK(try_take(path));
    CHECK(!std::filesystem::exists(path));
}

TEST_CASE("who waited for an inode that lost its name does not hold the lock")
{
    const Scratch scratch;
    const std::string path = scratch / "lock";
    // This holder was overtaken by another's unlink: it holds an inode without a name.
    const UniqueFd stale(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    REQUIRE(::flock(stale.get(), LOCK_EX | LOCK_NB) == 0);
    CHECK(!try_take(path));
    std::filesystem::remove(path);
    const auto lock = try_take(path);
    CHECK(lock);
    CHECK(std::filesystem::exists(path));
}

TEST_CASE("a lock is not taken through a symlink")
{
    const Scratch scratch;
    std::filesystem::create_symlink(scratch / "elsewhere", scratch / "lock");
    const auto lock = FileLock::try_take(scratch / "lock");
    REQUIRE(!lock);
    CHECK(lock.error().number == ELOOP);
    CHECK(!std::filesystem::exists(scratch / "elsewhere"));
}

} // namespace anchorhold::file_lock_test
