// SPDX-License-Identifier: Apache-2.0
// The file that tells the command what it can reach, so that an agent stops trying and says so.
#pragma once

#include "schema/record.hpp"

namespace anchorhold {

// Returns the file's text, in the record's words. `network` is the record of the run that holds the
// network: the sandbox's in a pod, else `record` itself.
std::string notice_text(const Record& record, const Record& network);

} // namespace anchorhold
