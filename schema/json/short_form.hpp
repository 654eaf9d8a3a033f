// SPDX-License-Identifier: Apache-2.0
// The value of an annotation that holds a list: a JSON array, or entries between commas.
#pragma once

#include "schema/error.hpp"

#include <string_view>
#include <vector>

namespace anchorhold::short_form {

// Without the blanks and line ends around it, as YAML's block text brings them.
std::string_view trimmed(std::string_view text);

// Does the value begin like a JSON array of objects or strings, and not like "[2001:db8::1]:443"?
// Then it must be one.
bool is_json(std::string_view text);

// The entries, trimmed. No text is no entry; an empty one between commas is refused.
Result<std::vector<std::string_view>> entries(std::string_view text);

} // namespace anchorhold::short_form
