// SPDX-License-Identifier: Apache-2.0
// Looks for processes in that namespace, and for mounts that keep it.
//
// Does not find a process in a pid namespace that is not below ours, a mount in another mount
// namespace, or a process that keeps the namespace by a descriptor alone. An engine that was
// started anew in a container sees no more than we do, and the runtime has told it that the
// container is gone.
//
// If we are wrong, nothing gets looser. The link and rules over there stay. The /30 is not given
// away there as long as its route is there. gc over there removes what no record names.
#include "hooks/elsewhere.hpp"

#include "hooks/files/mountinfo.hpp"
#include "hooks/files/whole_file.hpp"
#include "hooks/state/process.hpp"
#include "schema/file_identity.hpp"

#include <algorithm>

namespace anchorhold {
namespace {

Result<bool> is_mounted(const FileIdentity& netns)
{
    AH_TRY(const auto table, files::read_file("/proc/self/mountinfo", files::most_mountinfo),
           "list the mounts");
    return std::ranges::any_of(
        files::read_mountinfo(table.value_or("")),
        [&](const files::HostMount& mount) { return files::keeps_netns(mount, netns.inode); });
}

} // namespace

Status check_all_gone(const Record& record)
{
    AH_TRY(const std::string boot, state::boot_id());
    if (record.boot_id != boot)
        return {};
    AH_TRY(const FileIdentity pids, state::namespace_of(0, "pid"));
    bool held = false;
    if (record.host_pidns != pids) { // if a process lives in there, gc in there can tell
        AH_TRY(held, state::is_inhabited(record.host_pidns, "pid"));
    }
    AH_TRY(const bool inhabited, state::is_inhabited(record.host_netns, "net"));
    AH_TRY(const bool mounted, is_mounted(record.host_netns));
    if (held || inhabited || mounted)
        return fail(Code::network_setup_failed, "its link is in another network namespace");
    return {};
}

} // namespace anchorhold
