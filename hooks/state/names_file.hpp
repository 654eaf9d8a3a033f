// SPDX-License-Identifier: Apache-2.0
// The file runs/KEY/names, in which a run's relay counts the names that it refuses
// (schema/rules/names_table.hpp). The relay gets its descriptor; nothing inside gets its path.
#pragma once

#include "hooks/state/state_dir.hpp"
#include "schema/unique_fd.hpp"

namespace anchorhold::state {

// Makes the file, open for reading and writing. Every page of it is reserved: a relay that writes
// to a page of its mapping for which no memory is left would be killed.
Result<UniqueFd> make_names_file(const StateDir& state, const RunKey& key);
// Puts what the file says so far into the record; nothing where there is no such file.
void note_refused_names(const StateDir& state, Record& record);

} // namespace anchorhold::state
