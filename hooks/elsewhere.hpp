// SPDX-License-Identifier: Apache-2.0
// A run whose link and rules are in another network namespace than ours: an engine's, say, that
// was started anew and has other namespaces now.
#pragma once

#include "schema/record.hpp"

namespace anchorhold {

// That namespace has ended and has taken all of it along; else an error that says where it is.
// Asked only of what we see; whether the run still lives is for the caller to know.
Status check_all_gone(const Record& record);

} // namespace anchorhold
