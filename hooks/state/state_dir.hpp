// SPDX-License-Identifier: Apache-2.0
// The state directory has one folder per run under runs/, and the last records under ended/.
//
//   /run/anchorhold/                  0711
//     runs/KEY/                       below a 0700 directory
//       record.json
//       names                         which names the relay refused: hooks/state/names_file.hpp
//       pidns                         a symbolic link that names the pid namespace it was made in
//       inside/                       0755, bound read-only into the container
//     locks/KEY                       exists only while the lock is held
//     ended/KEY.GENERATION.json
//     refused/KEY.GENERATION.json
//     subnets/198.18.0.0              says who holds the subnet: hooks/state/subnets.hpp
//     probes.json
//
// A run's folder is made, and its first record written, while the run's lock is held once. So a
// folder without a record whose lock is free was left by a crash. This code links no libmnl,
// because the static shim uses it too.
#pragma once

#include "hooks/files/file_lock.hpp"
#include "hooks/state/ended_records.hpp"
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
    // Creates what is missing. Refuses a directory that anybody but root (or our euid) can write.
    static Result<StateDir> open(std::string path);
    // Creates nothing. Returns nullopt when the directory is not there.
    static Result<std::optional<StateDir>> existing(std::string path);

    const std::string& path() const noexcept { return path_; }
    std::string run_path(const RunKey& key) const;    // PATH/runs/KEY
    std::string inside_path(const RunKey& key) const; // PATH/runs/KEY/inside

    // Says whether the run's folder is there, with a record in it or not.
    bool has_run(const RunKey& key) const;
    // Makes a run's folder with an empty inside/. Replaces the folder of an older generation.
    Status make_run(const RunKey& key) const;
    // Says whether a process that we see has the run's inside/ mounted, as every confined container
    // has. For a run whose record cannot be read, nothing else tells whether it lives. It is an
    // error when the run was made in another pid namespace, or a process cannot be looked at.
    Result<bool> is_used(const RunKey& key) const;
    Status remove_run(const RunKey& key) const;    // succeeds when there is no such folder
    Status remove_inside(const RunKey& key) const; // removes only inside/; succeeds without one
    Result<std::vector<RunKey>> runs() const;      // sorted
    // Removes the files of locks whose holder was killed.
    Status drop_dead_locks() const;

    // Returns the run's record, or nullopt when there is none. Refuses one of another key.
    Result<std::optional<Record>> read(const RunKey& key) const;
    // Says whether the run's record has that text. Costs little for a run that has not.
    bool says(const RunKey& key, std::string_view text) const;
    // Returns the enforced runs in a network namespace whose first process lives. Leaves out a
    // record that cannot be read. Parses only the records that name the namespace, so a thousand
    // other runs cost little.
    Result<std::vector<Record>> living_in(const FileIdentity& netns) const;
    Status write(const Record& record) const; // writes a temporary file, then renames it
    // Writes the record at teardown, shortened (last_text) where it grew too long to be written:
    // else the run could never be removed.
    Status write_last(const Record& record) const;
    // Writes the last record of a run and moves it to ended/. That folder keeps about the newest
    // 256 records. A record older than a day goes at the next drop_old_ended.
    Status archive(const Record& record) const;
    // Writes the record of a run that was refused before it had a folder. The newest 64 are kept,
    // apart from ended/, which they must not push anything out of.
    Status archive_refusal(const Record& record) const;
    Status drop_old_ended() const;
    std::string ended_folder() const;   // PATH/ended
    std::string refused_folder() const; // PATH/refused
    // The records of both folders, in no order.
    Result<std::vector<EndedRecord>> last_records() const;
    Result<std::vector<Record>> ended() const; // the same, newest first

private:
    explicit StateDir(std::string path) : path_(std::move(path)) {}
    static Result<StateDir> from(std::string path);
    Status write_text(const Record& record, std::string_view text) const;
    std::string path_;
};

// The lock of one run, held until the object is destroyed. take() waits no longer than `bound`,
// because another process may hold the lock for ever.
class RunLock {
public:
    static Result<RunLock> take(const StateDir& state, const RunKey& key,
                                std::chrono::milliseconds bound = std::chrono::seconds(10));
    // Takes the lock without waiting. Returns nullopt when somebody holds it.
    static Result<std::optional<RunLock>> try_take(const StateDir& state, const RunKey& key);

private:
    explicit RunLock(files::FileLock lock) : lock_(std::move(lock)) {}
    files::FileLock lock_;
};

} // namespace anchorhold::state
