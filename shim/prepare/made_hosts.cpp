// SPDX-License-Identifier: Apache-2.0
#include "shim/prepare/made_hosts.hpp"

#include "hooks/state/mount_points.hpp"
#include "shim/config/normal_path.hpp"
#include "shim/config/view.hpp"

namespace anchorhold::prepare {

std::optional<MountPoints> made_hosts(json::View config, const std::string& rootfs,
                                      const std::string& state_path)
{
    std::string around = rootfs;
    std::vector<std::string> paths{"/etc/hosts", "/etc"};
    const auto mounts = config::elements(config, "mounts");
    for (const json::View& mount : mounts ? *mounts : std::vector<json::View>()) {
        const auto destination = config::text_of(mount, "destination");
        const std::string place = config::normal_path(destination.value_or(""));
        if (place == "/etc/hosts" || place == "/")
            return std::nullopt; // the engine made it, or it is not the root that it lies in
        if (place == "/etc") {
            if (!config::is_bind(mount))
                return std::nullopt; // a filesystem that ends with the container
            around = config::text_of(mount, "source").value_or("");
            paths = {"/hosts"};
        }
    }
    return state::missing_mount_points(state_path, around, paths);
}

} // namespace anchorhold::prepare
