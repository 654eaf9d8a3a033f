// SPDX-License-Identifier: Apache-2.0
// Small files of ours, read and replaced whole.
#pragma once

#include "schema/error.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace anchorhold::state {

// Nothing when it is not there. A file of more than `limit` bytes is refused.
Result<std::optional<std::string>> read_file(const std::string& path, std::size_t limit);
// What `fd` still has; `path` is its name in an error.
Result<std::string> read_all(int fd, std::size_t limit, const std::string& path);
// Temporary beside it, fsync, rename: after any crash there is the old text or the new one, even
// where the state directory is on a disk. One writer at a time (the run's lock).
Status replace_file(const std::string& path, std::string_view text, mode_t mode);

} // namespace anchorhold::state
