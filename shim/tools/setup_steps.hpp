// SPDX-License-Identifier: Apache-2.0
// The steps of `setup`: one change of the disk each, whole or not at all, in an order in which
// every engine works after each of them. A runtime's link comes before the file that names it, and
// goes after it.
#pragma once

#include "schema/error.hpp"

#include <string>
#include <sys/types.h>
#include <vector>

namespace anchorhold::tools {

enum class Change : std::uint8_t {
    make_folder,
    make_link, // `path` becomes a link with `text`
    keep,      // `path` gets the second name `text`, under which its bytes stay
    write,     // `path` gets `text`
    put_back,  // the file `text` takes the place of `path`
    take_away, // `path` is removed
};

struct Step {
    Change change = Change::write;
    std::string path;
    std::string text;
    mode_t mode = 0644; // of a file that is written
    // NOLINTNEXTLINE(readability-redundant-member-init): g++ wants it where it is left out
    std::string shown = {}; // what people are shown of a written file
};

// Says whether both paths lead to one file.
bool is_same_file(const std::string& one, const std::string& other);
// Returns the mode of a file, or the usual one where there is none.
mode_t mode_of(const std::string& path);
// Returns the temporary files that a step which writes this file left when it was killed.
std::vector<std::string> left_by_a_crash(const std::string& path);

// Returns the step as a sentence, with what is written below it.
std::string step_text(const Step& step);
// Carries the step out and syncs the folder.
Status take_step(const Step& step);

} // namespace anchorhold::tools
