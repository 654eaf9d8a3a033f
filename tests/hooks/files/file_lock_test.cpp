// SPDX-License-Identifier: Apache-2.0
#include "hooks/files/file_lock.hpp"
#include "tests/shim/scratch.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>

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
