// SPDX-License-Identifier: Apache-2.0
// Edits process.capabilities, in config.json and in the process of an exec. Errors have the code of
// the document.
#pragma once

#include "schema/json/json.hpp"

#include <string>
#include <vector>

namespace anchorhold::edit {

// Takes CAP_NET_ADMIN and CAP_NET_RAW out of the five sets of process.capabilities. Refuses a
// capability that is not spelled CAP_NAME.
struct CapsEdit {
    std::vector<json::Splice> splices;
    std::vector<std::string> removed; // names, each once
};
Result<CapsEdit> edit_capabilities(json::View process);

} // namespace anchorhold::edit
