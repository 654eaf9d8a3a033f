// SPDX-License-Identifier: Apache-2.0
// The original is the bundle's config.json as it was before the shim edited it. The runtime reads
// the file once. `up` puts the original back as soon as the runtime has read ours; teardown does it
// after a failure or a crash. So a bundle shows no trace of us when it is used again, or when its
// engine looks at it.
#pragma once

#include "hooks/state/file_lock.hpp"
#include "hooks/state/state_dir.hpp"

#include <string>

namespace anchorhold::state {

// Takes the lock of a bundle, which is held from reading config.json to replacing it. Waits for it
// at most two seconds. The lock is a file below STATE/locks and not the bundle's directory, because
// anybody who can open that directory could hold a lock on it for ever. The caller keeps
// `directory`.
Result<FileLock> lock_bundle(const StateDir& state, int directory);

// Replaces DIRECTORY/config.json if its text still is `expected`. Writes a temporary file beside it
// (O_EXCL), gives it the mode and owner of the old file, and renames it. The error is
// config_ambiguous when the text has changed, and EROFS when the bundle is on a read-only file
// system. The caller holds the bundle's lock.
Status replace_config(int directory, const std::string& expected, const std::string& text);

// Keeps the original in the run's folder, which make_run has made before.
Status keep_original(const StateDir& state, const RunKey& key, const std::string& text);

// Puts the original back if config.json still is the file that we wrote (record.config_digest).
// Does nothing, and succeeds, when the bundle is gone, when somebody changed the file since, or
// when no original is kept.
Status put_back(const StateDir& state, const Record& record);

} // namespace anchorhold::state
