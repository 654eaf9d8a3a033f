// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/unique_fd.hpp"

#include <cstdint>
#include <string>

namespace anchorhold::files {

// Opens a path of the container below its root `root` (openat2(2), RESOLVE_IN_ROOT): links lead
// where they lead inside. No link of /proc is followed. `refused` adds what else is not followed,
// as RESOLVE_NO_SYMLINKS. O_CLOEXEC is added. The result is empty, with errno, where that fails.
UniqueFd open_inside(int root, const std::string& path, std::uint64_t flags,
                     std::uint64_t refused = 0);

} // namespace anchorhold::files
