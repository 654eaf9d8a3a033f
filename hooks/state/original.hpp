// SPDX-License-Identifier: Apache-2.0
// The original is the bundle's config.json as it was before the shim edited it. The runtime reads
// the file once. `up` puts the original back as soon as the runtime has read ours; teardown does it
// after a failure or a crash. So a bundle shows no trace of us when it is used again, or when its
// engine looks at it.
//
// The original lies beside config.json, as .config.json.anchorhold-RUN.OWNER, for as long as our
// edit stands there. So it outlives our state directory, which a reboot empties, and putting it
// back is one rename(2), which needs no space. Its name says whose edit it undoes (the run, as the
// mark in config.json names it) and which process must be gone before somebody else may do so.
#pragma once

#include "hooks/files/file_lock.hpp"
#include "hooks/state/state_dir.hpp"

#include <string>

namespace anchorhold::state {

// Takes the lock of a bundle, which is held from reading config.json to replacing it. Waits for
// each holder at most ten seconds. The lock is a file below STATE/locks and not the bundle's
// directory, because anybody who can open that directory could hold a lock on it for ever. The
// caller keeps `directory`.
Result<files::FileLock> lock_bundle(const StateDir& state, int directory);

// Replaces DIRECTORY/config.json if its text still is `expected`. Writes a temporary file beside it
// (O_EXCL), gives it the mode and owner of the old file, and renames it. The error is
// config_ambiguous when the text has changed, and EROFS when the bundle is on a read-only file
// system. The caller holds the bundle's lock.
Status replace_config(int directory, const std::string& expected, const std::string& text);

// Keeps the original of that run beside DIRECTORY/config.json: a hard link, or a copy where there
// can be none. The error is EROFS as above. The caller holds the bundle's lock.
Status keep_beside(int directory, const Record& record);

// Writes config.json into the run's folder, which make_run has made before: podman's precreate
// hook has no bundle, and earlier versions kept the original there.
Status keep_original(const StateDir& state, const RunKey& key, const std::string& text);

// Puts the original back if config.json holds this run's edit: it is the file that we wrote
// (record.config_digest), or it bears the run's mark because a runtime wrote it anew. Removes what
// else we left in the bundle. Does nothing, and succeeds, when the bundle is gone or another file
// stands there. It is an error when our edit stands and no original is kept.
Status put_back(const StateDir& state, const Record& record);

// Puts back the original of a run of which no record is left, as after a reboot. `mark` is the
// run's name in config.json. Returns false when no original of it is kept. It is an error when the
// process that owns the run lives, or cannot be looked at from here. The caller holds the bundle's
// lock.
Result<bool> restore_unrecorded(int directory, std::string_view mark);

} // namespace anchorhold::state
