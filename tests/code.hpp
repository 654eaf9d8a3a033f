// SPDX-License-Identifier: Apache-2.0
// Source text as the layering test reads it: lines, identifiers, literals.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::layering_test {

std::vector<std::string> lines_of(std::string_view text);
// Returns the identifiers of a text, without comments and literals.
std::set<std::string> identifiers(std::string_view code);
// Returns the content of a text's literals, in small letters; literals side by side make one line.
std::string literals(std::string_view code);

} // namespace anchorhold::layering_test
