// SPDX-License-Identifier: Apache-2.0
// The bundle directory, resolved once; reads and writes of config.json go through its descriptor.
#pragma once

#include "schema/error.hpp"
#include "schema/unique_fd.hpp"

#include <string>

namespace anchorhold {

class Bundle {
public:
    static Result<Bundle> open(const std::string& path);
    const std::string& path() const noexcept { return path_; } // absolute, resolved
    // A regular file (no symlink, no FIFO) of at most 16 MiB, owned and writable by root or our
    // euid alone.
    Result<std::string> read_config() const;
    // Temporary beside it (O_EXCL), same mode and owner, renamed. EROFS is said as such.
    Status write_config(const std::string& text) const;

private:
    Bundle(UniqueFd directory, std::string path)
        : directory_(std::move(directory)), path_(std::move(path))
    {
    }
    UniqueFd directory_;
    std::string path_;
};

} // namespace anchorhold
