// SPDX-License-Identifier: Apache-2.0
// The value of an annotation that holds a list: a JSON array, or entries between commas.
#pragma once

#include "schema/error.hpp"

#include <string_view>
#include <vector>

namespace anchorhold::comma_list {

// Returns the text without the blanks and line ends around it; YAML's block texts come with them.
std::string_view trimmed(std::string_view text);

// Returns whether the value begins like a JSON array of objects or strings, and not like
// "[2001:db8::1]:443". Such a value is then read as JSON only.
bool is_json(std::string_view text);

// Returns the entries, trimmed; an empty text has none. Refuses (invalid_request) an empty entry
// between commas.
Result<std::vector<std::string_view>> entries(std::string_view text);

} // namespace anchorhold::comma_list
