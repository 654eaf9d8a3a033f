// SPDX-License-Identifier: Apache-2.0
// The bundle directory. It is resolved once; reads and writes of config.json go through its
// descriptor, so that a renamed path cannot lead them elsewhere. Code invalid_request unless said
// otherwise.
#pragma once

#include "hooks/files/file_lock.hpp"
#include "hooks/state/state_dir.hpp"
#include "schema/error.hpp"
#include "schema/unique_fd.hpp"

#include <string>
#include <string_view>

namespace anchorhold::config {

class Bundle {
public:
    // Opens the directory; `path` may be relative.
    static Result<Bundle> open(const std::string& path);
    const std::string& path() const noexcept { return path_; } // absolute, resolved
    // Says whether a descriptor is of this very directory.
    bool is(const UniqueFd& directory) const;
    // Returns the text of config.json: a regular file of at most 16 MiB. A symbolic link and any
    // owner are allowed here, because a container that is left alone may have what its runtime
    // takes. check_config refuses them.
    Result<std::string> read_config() const;
    // Refuses a config.json that is a symbolic link, or that somebody but root and our euid owns or
    // can write.
    Status check_config() const;
    // Takes the bundle's lock, which runs of the same bundle take in turn; waits at most two
    // seconds (hooks/state/original.hpp).
    Result<files::FileLock> lock(const state::StateDir& state) const;
    // Keeps the original beside config.json for that run (hooks/state/original.hpp).
    Status keep_config(const Record& record) const;
    // Puts back the original of a run of which no record is left. Returns false when none is kept.
    Result<bool> restore_config(std::string_view mark) const;
    // Replaces config.json by `text`. Code config_ambiguous when the file no longer holds
    // `original` (hooks/state/original.hpp).
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
