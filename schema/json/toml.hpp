// SPDX-License-Identifier: Apache-2.0
// TOML, the format of engines' configuration, as JSON, which everything here reads. toml.cpp is the
// only file that includes toml++.
#pragma once

#include "schema/error.hpp"

#include <string>
#include <string_view>

namespace anchorhold::json {

// Returns the text as JSON. Keys come in no particular order. A number keeps its value, not its
// spelling. The error is "line 3: SENTENCE", of code invalid_request.
Result<std::string> toml_as_json(std::string_view text);

} // namespace anchorhold::json
