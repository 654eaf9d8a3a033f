// SPDX-License-Identifier: Apache-2.0
// Reads and replaces small files of ours as a whole.
#pragma once

#include "schema/error.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace anchorhold::files {

// Returns the text of the file, or nullopt when there is no such file. Refuses a file of more than
// `limit` bytes (EFBIG). A symbolic link is not followed.
Result<std::optional<std::string>> read_file(const std::string& path, std::size_t limit);
// Reads `fd` to its end, from where it stands. Refuses more than `limit` bytes (EFBIG). `path` is
// the name that an error gives the file. The caller keeps `fd`.
Result<std::string> read_all(int fd, std::size_t limit, const std::string& path);
// Replaces the file: writes a temporary file beside it, syncs it and renames it. After any crash
// the old text or the new one is there, even where the state directory is on a disk. Only one
// process may write at a time: the caller holds the run's lock, or another of ours.
Status replace_file(const std::string& path, std::string_view text, mode_t mode);
// Does the same by a temporary file of that name, which must be on the same filesystem (EXDEV).
Status replace_file_by(const std::string& fresh, const std::string& path, std::string_view text,
                       mode_t mode);

} // namespace anchorhold::files
