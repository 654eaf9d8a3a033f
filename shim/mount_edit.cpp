// SPDX-License-Identifier: Apache-2.0
// Our mounts, behind all others. runtime-spec config.md, "Mounts": they happen in listed order.
#include "shim/config_parts.hpp"

#include <algorithm>

namespace anchorhold {
namespace {

std::string mount_entry(std::string_view destination, std::string_view source,
                        const std::vector<std::string>& options)
{
    return "{\"destination\":" + json::quote(destination) +
           ",\"type\":\"none\",\"source\":" + json::quote(source) +
           ",\"options\":" + quoted_list(options) + "}";
}

Result<bool> covers_resolv_conf(json::View mounts)
{
    for (const json::View& entry : mounts.items()) {
        AH_CHECK(entry.object(), "");
        const auto destination = entry.find("destination");
        if (!destination)
            return std::unexpected(entry.expected("a member \"destination\""));
        AH_TRY(const std::string text, destination->bytes(), "");
        if (normal_path(text) == "/etc/resolv.conf")
            return true;
    }
    return false;
}

} // namespace

std::string normal_path(std::string_view path)
{
    std::string normal;
    while (!path.empty()) {
        const std::string_view name = path.substr(0, path.find('/'));
        path.remove_prefix(std::min(path.size(), name.size() + 1));
        if (name == "..")
            normal.erase(std::min(normal.size(), normal.rfind('/')));
        else if (!name.empty() && name != ".")
            normal.append("/").append(name);
    }
    return normal.empty() ? "/" : normal;
}

Status edit_mounts(json::View config, const Plan& plan, Edits& edits)
{
    AH_TRY(const auto mounts, container(config, "mounts", json::Kind::array), "");
    std::string list;
    for (const MountEdit& mount : plan.mounts)
        list +=
            (list.empty() ? "" : ",") + mount_entry(mount.destination, mount.source, mount.options);
    if (mounts && plan.cover_resolv_conf) {
        AH_TRY(const bool covered, covers_resolv_conf(*mounts), "");
        if (covered)
            list += (list.empty() ? "" : ",") +
                    mount_entry("/etc/resolv.conf", plan.resolv_conf,
                                {"bind", "ro", "nosuid", "nodev", "noexec"});
    }
    if (!list.empty())
        edits.add_to_member(config, "mounts", json::Kind::array, Side::back, list);
    return {};
}

} // namespace anchorhold
