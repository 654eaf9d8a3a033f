// SPDX-License-Identifier: Apache-2.0
// Lines of ours in an engine's TOML file, between two marks at its end. All other bytes of the file
// stay. Each edit is parsed again: what it says must be what the file said, and what our lines say.
// Pure.
#pragma once

#include "schema/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace anchorhold::engine {

enum class TextIs : std::uint8_t {
    toml,
    go_template, // becomes TOML when it is rendered, as k3s' config.toml.tmpl; not parsed
};

// Returns the text with `lines`, which are TOML, between the marks; those of an earlier edit go.
// Refuses (invalid_request) a text that has a key of them already, or that cannot be added to.
Result<std::string> with_marked(std::string_view text, std::string_view lines, TextIs is);
// Returns the text as it was before with_marked, to the byte, with what others changed since. A
// text without marks is returned as it is. Refuses (invalid_request) one in which a mark is
// missing, or where others wrote into our sections.
Result<std::string> without_marked(std::string_view text, TextIs is);

} // namespace anchorhold::engine
