// SPDX-License-Identifier: Apache-2.0
// One UTF-8 sequence and its end (RFC 3629): no overlong forms, no surrogates, at most U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace anchorhold::json {

struct Utf8Step {
    char32_t point = 0;
    std::size_t length = 0; // 1 to 4; 0: the text does not begin with a valid sequence
};
Utf8Step utf8_step(std::string_view text);
bool is_utf8(std::string_view text);

} // namespace anchorhold::json
