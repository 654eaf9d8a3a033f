// SPDX-License-Identifier: Apache-2.0
// A lock whose file exists only while somebody holds the lock. So no file is left behind.
#pragma once

#include "schema/error.hpp"
#include "schema/unique_fd.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace anchorhold::files {

// The lock is held until the object is destroyed. Its file has mode 0600 and must be in a directory
// that nobody else can enter: anybody who can open a file can flock(2) it, and hold it for ever.
class [[nodiscard]] FileLock {
public:
    // Takes the lock without waiting. Returns nullopt when somebody else holds it.
    static Result<std::optional<FileLock>> try_take(const std::string& path);
    // Takes the lock, and waits for it no longer than `bound`. The error is then ETIMEDOUT.
    static Result<FileLock> take(const std::string& path, std::chrono::milliseconds bound);
    // Takes the lock, and waits no longer than `bound` for one holder: while others take their
    // turns, it goes on waiting.
    static Result<FileLock> take_in_turn(const std::string& path, std::chrono::milliseconds bound);
    FileLock(FileLock&&) noexcept = default;
    FileLock& operator=(FileLock&&) = delete;
    ~FileLock();

private:
    enum class Patience : bool { altogether, with_each };
    static Result<FileLock> wait(const std::string& path, std::chrono::milliseconds bound,
                                 Patience patience);
    FileLock(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
    UniqueFd fd_;
    std::string path_;
};

} // namespace anchorhold::files
