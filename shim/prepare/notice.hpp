// SPDX-License-Identifier: Apache-2.0
// The file that tells a command, inside its container, what it can reach. Pure.
#pragma once

#include "schema/record.hpp"

#include <string>

namespace anchorhold::prepare {

// Returns the file that tells the command what it can reach, so that an agent stops trying and says
// so. `network` is the record of the run that holds the network: the sandbox's in a pod, else
// `record` itself.
std::string notice_text(const Record& record, const Record& network);

} // namespace anchorhold::prepare
