// SPDX-License-Identifier: Apache-2.0
// The state directory (DESIGN 10): one folder per run under runs/, the last records under ended/.
//
//   /run/anchorhold           0711
//     runs/KEY/               0700 parent; record.json, inside/ (bound read-only into the
//     container) locks/KEY               0600, flock; kept apart so that a lock never keeps a run's
//     folder ended/KEY.GENERATION.json probes.json
// Links no libmnl: the static shim uses it too.
#pragma once

#include "schema/record.hpp"
#include "schema/unique_fd.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold {

// Where state lives when nobody said: /run/anchorhold for euid 0 in the initial user namespace,
// else $XDG_RUNTIME_DIR/anchorhold, else /run/user/OUTER_UID/anchorhold, else refused.
Result<std::string> default_state_path();

// The delegate's state root, absolute: longest existing prefix through realpath(3), the rest
// normalised lexically, relative paths from the cwd.
Result<std::string> resolve_root(std::string_view root);

class StateDir {
public:
    // Creates what is missing, refuses a directory that somebody but root (or our euid) can write.
    static Result<StateDir> open(std::string path);
    // Reads only: nothing when the directory is not there.
    static Result<std::optional<StateDir>> existing(std::string path);

    const std::string& path() const noexcept { return path_; }
    std::string run_path(const RunKey& key) const;    // PATH/runs/KEY
    std::string inside_path(const RunKey& key) const; // PATH/runs/KEY/inside

    // A run's folder with an empty inside/. An older generation's folder is replaced.
    Status make_run(const RunKey& key) const;
    Status remove_run(const RunKey& key) const; // nothing there is success
    Result<std::vector<RunKey>> runs() const;

    Result<std::optional<Record>> read(const RunKey& key) const;
    Status write(const Record& record) const; // temporary, then rename
    // The last record of a run goes to ended/; keeps the newest 256, none older than a day.
    Status archive(const Record& record) const;
    Result<std::vector<Record>> ended() const; // newest first

private:
    explicit StateDir(std::string path) : path_(std::move(path)) {}
    std::string path_;
};

// Held until destroyed. Waited for with a bound: another process may hold it for ever.
class RunLock {
public:
    static Result<RunLock> take(const StateDir& state, const RunKey& key,
                                std::chrono::milliseconds bound = std::chrono::seconds(10));

private:
    explicit RunLock(UniqueFd fd) : fd_(std::move(fd)) {}
    UniqueFd fd_;
};

} // namespace anchorhold
