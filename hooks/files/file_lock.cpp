// SPDX-License-Identifier: Apache-2.0
// The holder removes the file before it lets the lock go. Another process may have opened the file
// before that. It then gets a lock on an inode that has no name any more, and such a lock guards
// nothing. So after flock(2) the name is looked up again: it must still lead to the locked inode.
// If it does not, everything is tried again from the start. Only the holder removes the file, so
// once name and inode agree, they agree until the holder is done.
#include "hooks/files/file_lock.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace anchorhold::files {
namespace {

constexpr std::chrono::milliseconds asking_interval(2);

// Says whether the name `path` still leads to the open file `fd`.
bool leads_to(const std::string& path, int fd)
{
    struct stat held = {};
    struct stat named = {};
    return ::fstat(fd, &held) == 0 && ::lstat(path.c_str(), &named) == 0 &&
           held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

// Numbers of inodes come again; the time of the making does not.
bool is_same(const struct stat& one, const struct stat& other)
{
    return one.st_ino == other.st_ino && one.st_ctim.tv_sec == other.st_ctim.tv_sec &&
           one.st_ctim.tv_nsec == other.st_ctim.tv_nsec;
}

} // namespace

Result<std::optional<FileLock>> FileLock::try_take(const std::string& path)
{
    for (;;) {
        UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (!fd)
            return fail_errno("open lock " + path, errno);
        if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
            if (errno == EWOULDBLOCK)
                return std::nullopt;
            return fail_errno("lock " + path, errno);
        }
        if (leads_to(path, fd.get()))
            return FileLock(std::move(fd), path);
    }
}

// Asks every 2 ms. flock(2) cannot wait with a limit. An alarm signal would disturb the shim, which
// forwards signals. inotify(7) reports that a file is closed before its lock is gone.
Result<FileLock> FileLock::take(const std::string& path, std::chrono::milliseconds bound)
{
    return wait(path, bound, Patience::altogether);
}

Result<FileLock> FileLock::take_in_turn(const std::string& path, std::chrono::milliseconds bound)
{
    return wait(path, bound, Patience::with_each);
}

Result<FileLock> FileLock::wait(const std::string& path, std::chrono::milliseconds bound,
                                Patience patience)
{
    using Clock = std::chrono::steady_clock;
    auto end = Clock::now() + bound;
    struct stat holders = {};
    for (;;) {
        AH_TRY(auto lock, try_take(path), "take the lock");
        if (lock)
            return *std::move(lock);
        struct stat file = {};
        if (patience == Patience::with_each && ::lstat(path.c_str(), &file) == 0 &&
            !is_same(file, holders)) {
            holders = file; // each holder makes the file anew
            end = Clock::now() + bound;
        }
        if (Clock::now() >= end)
            return fail_errno("wait for the lock " + path, ETIMEDOUT);
        std::this_thread::sleep_for(asking_interval);
    }
}

FileLock::~FileLock()
{
    if (fd_)
        (void)::unlink(path_.c_str()); // if it stays, the next holder uses it again
}

} // namespace anchorhold::files
