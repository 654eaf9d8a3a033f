// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace anchorhold {

// Returns the SHA-256 of the bytes as 64 lower-case hex digits (libmd).
std::string sha256_hex(std::string_view bytes);

} // namespace anchorhold
