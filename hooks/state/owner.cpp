// SPDX-License-Identifier: Apache-2.0
// user_namespaces(7), "Unmapped user and group IDs": stat(2) shows the overflow uid for the host's
// root there, and so it does for any other user of the host who has no id inside; those cannot be
// told apart. The same number can be an id inside as well, of a container's user "nobody" say: over
// a file of that one root inside has CAP_FOWNER, which open(2) asks for O_NOATIME; over a file
// without an id nobody inside has it.
#include "hooks/state/owner.hpp"

#include "hooks/state/files.hpp"
#include "schema/unique_fd.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace anchorhold::state {
namespace {

constexpr uid_t overflow_uid = 65534; // kernel.overflowuid, as everybody leaves it

// A link cannot be changed by its owner but only replaced, which is up to its directory.
bool has_no_id(const std::string& path, const struct stat& file)
{
    if (S_ISLNK(file.st_mode))
        return true;
    if (!S_ISDIR(file.st_mode) && !S_ISREG(file.st_mode))
        return false;
    const UniqueFd opened(
        ::open(path.c_str(), O_RDONLY | O_NOATIME | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    return !opened && (errno == EPERM || errno == EACCES);
}

} // namespace

// Three numbers a line, the second is the first id outside.
bool maps_host_root(std::string_view uid_map)
{
    constexpr std::string_view blanks = " \n";
    for (std::size_t count = 0, at = 0;; ++count) {
        at = uid_map.find_first_not_of(blanks, at);
        if (at == std::string_view::npos)
            return false;
        const std::size_t end = std::min(uid_map.find_first_of(blanks, at), uid_map.size());
        if (count % 3 == 1 && uid_map.substr(at, end - at) == "0")
            return true;
        at = end;
    }
}

bool is_rootless()
{
    const auto map = read_file("/proc/self/uid_map", 65536);
    const std::optional<std::string> text = map ? *map : std::nullopt;
    return text && !maps_host_root(*text);
}

bool is_owned_well(const std::string& path, const struct stat& file)
{
    if (file.st_uid == 0 || file.st_uid == ::geteuid())
        return true;
    return file.st_uid == overflow_uid && is_rootless() && has_no_id(path, file);
}

} // namespace anchorhold::state
