// SPDX-License-Identifier: Apache-2.0
// The state directory (DESIGN 10): one folder per run under runs/, the last records under ended/.
//
//   /run/anchorhold/                  0711
//     runs/KEY/                       below a 0700 directory
//       record.json
//       inside/                       0755, bound read-only into the container
//     locks/KEY                       there only while it is held
//     ended/KEY.GENERATION.json
//     subnets/198.18.0.0              who holds it: hooks/state/subnets.hpp
//     probes.json
//
// A run's folder is made and its first record written under one hold of the run's lock: a folder
// without a record whose lock is free is a crash's. Links no libmnl: the static shim uses it too.
#pragma once

#include "hooks/state/file_lock.hpp"
#include "schema/file_identity.hpp"
#include "schema/record.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace anchorhold::state {

class StateDir {
public:
    // Creates what is missing, refuses a directory that somebody but root (or our euid) can write.
    static Result<StateDir> open(std::string path);
    // Reads only: nothing when the directory is not there.
    static Result<std::optional<StateDir>> existing(std::string path);

    const std::string& path() const noexcept { return path_; }
    std::string run_path(const RunKey& key) const;    // PATH/runs/KEY
    std::string inside_path(const RunKey& key) const; // PATH/runs/KEY/inside

    bool has_run(const RunKey& key) const; // its folder, with a record or without
    // A run's folder with an empty inside/. An older generation's folder is replaced.
    Status make_run(const RunKey& key) const;
    Status remove_run(const RunKey& key) const;    // nothing there is success
    Status remove_inside(const RunKey& key) const; // the same, of its inside/ alone
    Result<std::vector<RunKey>> runs() const;      // sorted
    // Removes the files of locks whose holder was killed.
    Status drop_dead_locks() const;

    Result<std::optional<Record>> read(const RunKey& key) const;
    // The runs enforced in a network namespace whose first process lives. A record that cannot be
    // read is nobody's. Of a thousand others none is parsed.
    Result<std::vector<Record>> living_in(const FileIdentity& netns) const;
    Status write(const Record& record) const; // temporary, then rename
    // Of a teardown: a record that grew too long to be written goes without its advice and what it
    // was refused, rather than keep the run.
    Status write_last(Record record) const;
    // Writes the last record of a run and moves it to ended/, which keeps about the newest 256 and,
    // from one drop_old_ended to the next, none older than a day.
    Status archive(const Record& record) const;
    Status drop_old_ended() const;
    Result<std::vector<Record>> ended() const; // newest first

private:
    explicit StateDir(std::string path) : path_(std::move(path)) {}
    static Result<StateDir> from(std::string path);
    std::string path_;
};

// Held until destroyed. Waited for with a bound: another process may hold it for ever.
class RunLock {
public:
    static Result<RunLock> take(const StateDir& state, const RunKey& key,
                                std::chrono::milliseconds bound = std::chrono::seconds(10));
    // Nothing when somebody holds it.
    static Result<std::optional<RunLock>> try_take(const StateDir& state, const RunKey& key);

private:
    explicit RunLock(FileLock lock) : lock_(std::move(lock)) {}
    FileLock lock_;
};

} // namespace anchorhold::state
