// SPDX-License-Identifier: Apache-2.0
#include "shim/prepare/given_hosts.hpp"

#include "hooks/files/open_inside.hpp"
#include "hooks/files/whole_file.hpp"
#include "schema/file_identity.hpp"
#include "schema/unique_fd.hpp"
#include "shim/config/normal_path.hpp"
#include "shim/config/view.hpp"

#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>

namespace anchorhold::prepare {
namespace {

constexpr std::size_t most_hosts = std::size_t{1024} * 1024;
constexpr std::string_view place = "/etc/hosts";

// Returns the host path that the last mount on the place shows; empty: there is no such mount.
std::string mounted_source(json::View config)
{
    std::string source;
    const auto mounts = config::elements(config, "mounts");
    for (const json::View& mount : mounts ? *mounts : std::vector<json::View>()) {
        const auto destination = config::text_of(mount, "destination");
        const auto from = config::text_of(mount, "source");
        if (destination && from && config::normal_path(*destination) == place)
            source = *from;
    }
    return source;
}

// Reads a regular file. A pipe is not opened for reading, because that would wait for its writer.
std::string text_of_file(const UniqueFd& file, const std::string& path)
{
    struct stat found = {};
    if (!file || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode))
        return {};
    return files::read_all(file.get(), most_hosts, path).value_or("");
}

// Says whether the descriptor is of what was looked at as the source of that place.
bool was_looked_at(const UniqueFd& file, std::string_view destination,
                   const std::vector<BindSource>& looked_at)
{
    struct stat found = {};
    if (!file || ::fstat(file.get(), &found) != 0)
        return false;
    return std::ranges::any_of(looked_at, [&](const BindSource& source) {
        return source.destination == destination &&
               source.identity == FileIdentity{found.st_dev, found.st_ino};
    });
}

} // namespace

std::string given_hosts(json::View config, const std::string& rootfs,
                        const std::vector<BindSource>& looked_at)
{
    const std::string source = mounted_source(config);
    const std::string path(place);
    if (source.starts_with('/')) {
        const UniqueFd file(::open(source.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
        return was_looked_at(file, place, looked_at) ? text_of_file(file, source) : "";
    }
    const UniqueFd root(::open(rootfs.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!source.empty() || !was_looked_at(root, "/", looked_at))
        return {};
    return text_of_file(files::open_inside(root.get(), path, O_RDONLY | O_NONBLOCK), path);
}

} // namespace anchorhold::prepare
