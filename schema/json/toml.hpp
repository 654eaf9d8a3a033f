// SPDX-License-Identifier: Apache-2.0
// TOML, which engines are configured in, as JSON, which everything here reads. toml.cpp is the only
// file that includes toml++.
#pragma once

#include "schema/error.hpp"

#include <string>
#include <string_view>

namespace anchorhold::json {

// Keys in no particular order; a number keeps its value, not its spelling. The error is "line 3:
// SENTENCE", of code invalid_request.
Result<std::string> toml_as_json(std::string_view text);

} // namespace anchorhold::json
