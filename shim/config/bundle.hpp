// SPDX-License-Identifier: Apache-2.0
// The bundle directory, resolved once; reads and writes of config.json go through its descriptor.
#pragma once

#include "hooks/state/file_lock.hpp"
#include "hooks/state/state_dir.hpp"
#include "schema/error.hpp"
#include "schema/unique_fd.hpp"

#include <string>

namespace anchorhold::config {

class Bundle {
public:
    static Result<Bundle> open(const std::string& path);
    const std::string& path() const noexcept { return path_; } // absolute, resolved
    // A regular file of at most 16 MiB. Whose it is, and whether a link leads to it, is for
    // check_config to say: a container that is left alone may have it as its runtime likes.
    Result<std::string> read_config() const;
    // No symlink, owned and writable by root or our euid alone.
    Status check_config() const;
    // A turn at it among runs of the same bundle (hooks/state/original.hpp).
    Result<state::FileLock> lock(const state::StateDir& state) const;
    // Replaces `original`, which must still stand there (hooks/state/original.hpp).
    Status write_config(const std::string& original, const std::string& text) const;

private:
    Bundle(UniqueFd directory, std::string path)
        : directory_(std::move(directory)), path_(std::move(path))
    {
    }
    UniqueFd directory_;
    std::string path_;
};

} // namespace anchorhold::config
