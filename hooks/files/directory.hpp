// SPDX-License-Identifier: Apache-2.0
// Directories of ours: whether they are fit to hold what we write, and what is in them.
#pragma once

#include "schema/error.hpp"

#include <string>
#include <sys/types.h>
#include <vector>

namespace anchorhold::files {

// Refuses a directory if anybody but root (or our euid) could put files into it. The error's number
// is ENOENT where there is none.
Status check_directory(const std::string& path);
// Makes a directory, or checks the one that is there. Makes none of those above it.
Status make_directory(const std::string& path, mode_t mode);
// Lists a directory's names without "." and "..", in no order. Returns none when the directory is
// not there.
Result<std::vector<std::string>> names_in(const std::string& path);

} // namespace anchorhold::files
