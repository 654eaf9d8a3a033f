// SPDX-License-Identifier: Apache-2.0
#include "hooks/files/open_inside.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace anchorhold::files {

UniqueFd open_inside(int root, const std::string& path, std::uint64_t flags, std::uint64_t refused)
{
    open_how how = {};
    how.flags = flags | O_CLOEXEC;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | refused;
    return UniqueFd(static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
}

} // namespace anchorhold::files
