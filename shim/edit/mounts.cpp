// SPDX-License-Identifier: Apache-2.0
// Adds our mounts behind all others: they are mounted in the order of the list (runtime-spec
// config.md, "Mounts").
#include "shim/edit/mounts.hpp"

#include "shim/config/normal_path.hpp"

#include <algorithm>
#include <optional>

namespace anchorhold::edit {
namespace {

const std::vector<std::string> file_options{"bind", "ro", "nosuid", "nodev", "noexec"};

std::string mount_entry(std::string_view destination, std::string_view source,
                        const std::vector<std::string>& options)
{
    return "{\"destination\":" + json::quote(destination) +
           ",\"type\":\"none\",\"source\":" + json::quote(source) +
           ",\"options\":" + config::quoted_list(options) + "}";
}

Result<bool> has_mount_at(std::optional<json::View> mounts, std::string_view path)
{
    for (const json::View& entry : mounts ? mounts->items() : std::vector<json::View>()) {
        AH_CHECK(entry.object());
        const auto destination = entry.find("destination");
        if (!destination)
            return std::unexpected(entry.expected("a member \"destination\""));
        AH_TRY(const std::string text, destination->bytes());
        if (config::normal_path(text) == path)
            return true;
    }
    return false;
}

} // namespace

Status edit_mounts(json::View config, const Plan& plan, config::Edits& edits)
{
    AH_TRY(const auto mounts, config::container(config, "mounts", json::Kind::array));
    std::string list;
    const auto append = [&](const MountEdit& mount) {
        list +=
            (list.empty() ? "" : ",") + mount_entry(mount.destination, mount.source, mount.options);
    };
    for (const MountEdit& mount : plan.mounts)
        append(mount);
    // Engines mount none for a container without a network. The names of a gate's list would then
    // not exist.
    if (plan.cover_resolv_conf) {
        AH_TRY(const bool covered, has_mount_at(mounts, "/etc/resolv.conf"));
        if (covered || plan.has_gate)
            append({"/etc/resolv.conf", plan.resolv_conf, file_options});
    }
    // /etc/hosts is mounted even where the engine mounts none: without a resolver the names stand
    // nowhere else. It then lies on the image's file, which the runtime makes if there is none.
    if (plan.cover_hosts)
        append({"/etc/hosts", plan.hosts, file_options});
    if (!list.empty())
        edits.add_to_member(config, "mounts", json::Kind::array, config::Side::back, list);
    return {};
}

} // namespace anchorhold::edit
