// SPDX-License-Identifier: Apache-2.0
#include "shim/verbs/exec_check.hpp"

#include "hooks/files/file_owner.hpp"
#include "hooks/files/whole_file.hpp"
#include "hooks/state/process.hpp"
#include "schema/file_identity.hpp"
#include "shim/edit/exec_process.hpp"
#include "shim/inspect/command_user.hpp"
#include "shim/inspect/inspection.hpp"

#include <algorithm>
#include <sstream>
#include <sys/stat.h>

namespace anchorhold::verbs {
namespace {

constexpr std::size_t most_read = std::size_t{16} * 1024 * 1024; // bytes

// A mount as proc(5) lists it in mountinfo.
struct SeenMount {
    std::string root, place, type;
    bool writable = false;
};

SeenMount read_mount(const std::string& line)
{
    std::istringstream words(line);
    std::string skipped, options;
    SeenMount mount;
    words >> skipped >> skipped >> skipped >> mount.root >> mount.place >> options;
    mount.writable = options == "rw" || options.starts_with("rw,");
    while (words >> skipped && skipped != "-") {
    }
    words >> mount.type;
    return mount;
}

// Says whether the container's first process is in the host's user namespace, or in one where the
// host's root has an id.
Result<bool> has_hosts_root(const Record& record)
{
    AH_TRY(const FileIdentity users,
           state::namespace_of(static_cast<pid_t>(record.init.pid), "user"));
    AH_TRY(const FileIdentity ours, state::namespace_of(0, "user"));
    const std::string map = "/proc/" + std::to_string(record.init.pid) + "/uid_map";
    AH_TRY(const auto ids, files::read_file(map, most_read));
    return users == ours || !ids || files::maps_host_root(*ids);
}

// Adds what voids the posture and is not in the record.
Status find_voids(const Record& record, const std::string& process,
                  const inspect::CommandUser& user, std::vector<inspect::Finding>& voids)
{
    AH_TRY(const std::string names, edit::voiding_capabilities_in(process));
    const bool may_be_root = user.host_uid == 0 || user.takes_any_uid;
    const std::string table = "/proc/" + std::to_string(record.init.pid) + "/mountinfo";
    AH_TRY(const auto mounts, files::read_file(table, most_read), "look at the container's mounts");
    const std::string place =
        may_be_root && mounts ? writable_kernel_files(*mounts) : std::string();
    if (names.empty() && place.empty())
        return {};
    AH_TRY(const bool hosts, has_hosts_root(record));
    if (!hosts)
        return {};
    const auto is_known = [&](std::string_view where) {
        return std::ranges::any_of(record.voids, [&](const std::string& known) {
            return known.starts_with(where) || known.starts_with("exec: " + std::string(where));
        });
    };
    if (!names.empty() && !is_known("process.capabilities"))
        voids.push_back({"process.capabilities",
                         "holds " + names + " over the host; exec without them", "--privileged"});
    if (!place.empty() && !is_known("mounts[") && !is_known("process.user")) {
        voids.push_back({"process.user", "root could change the host through " + printable(place) +
                                             ", which is writable; exec as another user with "
                                             "noNewPrivileges, or mount it \"ro\""});
    }
    return {};
}

// Refuses the uid that owns an endpoint's directory, as create does for the command's.
Status check_brokers(const Record& record, const inspect::CommandUser& user)
{
    for (const Endpoint& endpoint : record.endpoints) {
        const auto* const target = std::get_if<UnixTarget>(&endpoint.to);
        struct stat directory = {};
        if (target == nullptr || user.host_uid == 0 ||
            ::stat(std::string(target->directory()).c_str(), &directory) != 0 ||
            directory.st_uid != user.host_uid)
            continue;
        AH_TRY(const FileIdentity users,
               state::namespace_of(static_cast<pid_t>(record.init.pid), "user"));
        AH_TRY(const FileIdentity ours, state::namespace_of(0, "user"));
        if (users == ours) {
            return fail(Code::endpoint_unavailable,
                        "endpoint " + endpoint.name + ": " +
                            printable(std::string(target->directory())) + " belongs to uid " +
                            std::to_string(user.host_uid) + ", the exec's own; exec as another");
        }
    }
    return {};
}

bool voids_are_recorded(const Session& session, const Record& record)
{
    const Profile* const profile = session.policy ? session.policy->find(record.profile) : nullptr;
    return profile != nullptr && profile->switches.voids == Voids::record;
}

Status write_down(const OwnRun& run, const std::vector<inspect::Finding>& voids)
{
    AH_TRY(const state::RunLock lock, state::RunLock::take(run.state, run.key));
    AH_TRY(auto record, run.state.read(run.key), "read the run's record");
    if (!record || record->generation != run.record.generation)
        return fail(Code::network_setup_failed, "the run has ended");
    for (const inspect::Finding& found : voids)
        record->voids.push_back("exec: " + inspect::text_of(found));
    return run.state.write(*record);
}

} // namespace

std::string writable_kernel_files(std::string_view mountinfo)
{
    std::vector<SeenMount> mounts;
    std::istringstream lines{std::string(mountinfo)};
    for (std::string line; std::getline(lines, line);)
        mounts.push_back(read_mount(line));
    const auto is_covered = [&](const std::string& place) {
        const auto last = std::find_if(mounts.rbegin(), mounts.rend(), [&](const SeenMount& mount) {
            return mount.place == place;
        });
        return last != mounts.rend() && !last->writable;
    };
    for (const SeenMount& mount : mounts) {
        if (!mount.writable || is_covered(mount.place))
            continue;
        const bool has_sys = mount.root == "/" && !is_covered(mount.place + "/sys");
        const bool is_sys = mount.root == "/sys" || mount.root.starts_with("/sys/");
        if (mount.type == "sysfs" || (mount.type == "proc" && (has_sys || is_sys)))
            return mount.place;
    }
    return {};
}

Status check_exec(const Session& session, const OwnRun& run, const std::string& process)
{
    AH_TRY(const inspect::CommandUser user, edit::user_of_process(process), "read process.user");
    AH_CHECK(check_brokers(run.record, user));
    std::vector<inspect::Finding> voids;
    AH_CHECK(find_voids(run.record, process, user, voids));
    if (voids.empty())
        return {};
    if (voids_are_recorded(session, run.record))
        return write_down(run, voids);
    std::string text;
    for (const inspect::Finding& found : voids)
        text += (text.empty() ? "" : "; ") + inspect::text_of(found);
    return fail(Code::bundle_voids_posture, std::move(text));
}

} // namespace anchorhold::verbs
