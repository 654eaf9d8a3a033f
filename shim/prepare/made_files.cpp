// SPDX-License-Identifier: Apache-2.0
#include "shim/prepare/made_files.hpp"

#include "hooks/state/mount_points.hpp"
#include "shim/config/normal_path.hpp"
#include "shim/config/view.hpp"

#include <set>

namespace anchorhold::prepare {

std::optional<MountPoints> made_files(json::View config, const std::string& rootfs,
                                      const std::vector<std::string>& names,
                                      const std::string& state_path)
{
    std::string around = rootfs;
    bool is_etc = false; // `around` is what the container has at /etc
    std::set<std::string> mounted;
    const auto mounts = config::elements(config, "mounts");
    for (const json::View& mount : mounts ? *mounts : std::vector<json::View>()) {
        const auto destination = config::text_of(mount, "destination");
        const std::string place = config::normal_path(destination.value_or(""));
        mounted.insert(place);
        if (place == "/")
            return std::nullopt; // it is not the root that they lie in
        if (place == "/etc") {
            if (!config::is_bind(mount))
                return std::nullopt; // a filesystem that ends with the container
            around = config::text_of(mount, "source").value_or("");
            is_etc = true;
        }
    }
    std::vector<state::MissingPath> files;
    for (const std::string& name : names) {
        if (mounted.contains("/etc/" + name))
            continue; // the engine made it
        files.push_back(is_etc ? state::MissingPath{"/" + name}
                               : state::MissingPath{"/etc/" + name, "/etc"});
    }
    return state::missing_mount_points(state_path, around, files);
}

} // namespace anchorhold::prepare
