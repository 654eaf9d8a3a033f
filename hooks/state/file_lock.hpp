// SPDX-License-Identifier: Apache-2.0
// A lock whose file exists only while somebody holds it, so that nothing is left of it.
#pragma once

#include "schema/error.hpp"
#include "schema/unique_fd.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace anchorhold::state {

// Held until destroyed. The file is 0600 and must be in a directory nobody else can enter:
// whoever can open a file can flock(2) it, and hold it for ever.
class [[nodiscard]] FileLock {
public:
    // Nothing when somebody else holds it.
    static Result<std::optional<FileLock>> try_take(const std::string& path);
    // Waits, at most `bound`.
    static Result<FileLock> take(const std::string& path, std::chrono::milliseconds bound);
    FileLock(FileLock&&) noexcept = default;
    FileLock& operator=(FileLock&&) = delete;
    ~FileLock();

private:
    FileLock(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
    UniqueFd fd_;
    std::string path_;
};

} // namespace anchorhold::state
