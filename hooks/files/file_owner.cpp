// SPDX-License-Identifier: Apache-2.0
// How a file of the host's root is recognised in a user namespace that has no id for that root:
//
// 1. stat(2) shows the overflow uid for every user of the host who has no id inside
//    (user_namespaces(7), "Unmapped user and group IDs"). The host's root is one of these users,
//    and they cannot be told apart.
// 2. The same number may also be an ordinary id inside, for example of a container's user "nobody".
//    Such a file must not be believed.
// 3. open(2) allows O_NOATIME only to the file's owner and to a process with CAP_FOWNER over the
//    file. Root inside has that capability over a file whose owner has an id inside. Nobody inside
//    has it over a file whose owner has none. So we open the file with O_NOATIME: if that is
//    denied, the owner has no id inside.
#include "hooks/files/file_owner.hpp"

#include "hooks/files/whole_file.hpp"
#include "schema/unique_fd.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace anchorhold::files {
namespace {

constexpr uid_t overflow_uid = 65534; // the default of kernel.overflowuid

// Says whether the owner of a file has no id in this user namespace. A symbolic link counts as such
// a file: its owner cannot change it but only replace it, and its directory decides about that.
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

// Reads three numbers a line. The second one is the first id outside.
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

} // namespace anchorhold::files
