// SPDX-License-Identifier: Apache-2.0
// The bundle's config.json as it was before the shim edited it. The runtime reads the file once,
// so the original goes back as soon as it has (`up`), and after a failure or a crash by teardown:
// a bundle that is used again, or looked at by its engine, shows no trace of us.
#pragma once

#include "hooks/state/file_lock.hpp"
#include "hooks/state/state_dir.hpp"

#include <string>

namespace anchorhold::state {

// One at a time in a bundle, from reading config.json to replacing it. A file below STATE/locks, as
// whoever can open the bundle's directory could sit on that for ever. Waited for two seconds.
Result<FileLock> lock_bundle(const StateDir& state, int directory);

// Replaces DIRECTORY/config.json if it still reads `expected`: temporary beside it (O_EXCL), mode
// and owner of what stands there, renamed. A text that has changed is config_ambiguous; EROFS is
// said as such. The caller holds the lock.
Status replace_config(int directory, const std::string& expected, const std::string& text);

// Keeps the original in the run's folder; make_run comes first.
Status keep_original(const StateDir& state, const RunKey& key, const std::string& text);

// Puts it back if the file still is the one we wrote (record.config_digest). A bundle that is gone,
// a file that somebody changed since, an original that was never kept: nothing to do.
Status put_back(const StateDir& state, const Record& record);

} // namespace anchorhold::state
