// SPDX-License-Identifier: Apache-2.0
#include "shim/verbs/places.hpp"

#include "hooks/files/file_owner.hpp"
#include "hooks/files/owned_path.hpp"
#include "hooks/files/whole_file.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace anchorhold::verbs {
namespace {

// Makes a path absolute. Its links are not followed.
Result<std::string> absolute_path(const std::string& path)
{
    if (path.starts_with('/'))
        return path;
    std::array<char, PATH_MAX> here{};
    if (::getcwd(here.data(), here.size()) == nullptr)
        return fail_errno("ask for the working directory", errno);
    return std::string(here.data()) + "/" + path;
}

// Returns the host uid of the container's root, where a user namespace maps one.
std::optional<std::int64_t> mapped_root(json::View config)
{
    const auto linux_member = config.find("linux");
    const auto mappings = linux_member ? linux_member->find("uidMappings") : std::nullopt;
    for (const json::View mapping : mappings ? mappings->items() : std::vector<json::View>()) {
        const auto inside = mapping.find("containerID");
        const auto outside = mapping.find("hostID");
        const auto first = inside ? inside->integer() : Result<std::int64_t>(-1);
        const auto host = outside ? outside->integer() : Result<std::int64_t>(-1);
        if (first && *first == 0 && host)
            return *host;
    }
    return std::nullopt;
}

// Says whether an account of this host has the uid. Those of a directory service are not asked.
bool has_account(std::int64_t uid)
{
    constexpr std::size_t most_accounts = std::size_t{16} * 1024 * 1024; // bytes
    const auto accounts = files::read_file("/etc/passwd", most_accounts);
    if (!accounts)
        return true;
    const std::string all = accounts->value_or("");
    for (std::size_t at = 0; at < all.size();) { // NAME:PASSWORD:UID:...
        const std::string_view line = std::string_view(all).substr(at, all.find('\n', at) - at);
        at += line.size() + 1;
        const std::size_t password = line.find(':') + 1;
        const std::size_t number = line.find(':', password) + 1;
        if (line.substr(number, line.find(':', number) - number) == std::to_string(uid))
            return true;
    }
    return false;
}

// Opens a bundle that belongs to the container's mapped root, as podman has it (measured, 4.3.1).
// Nothing leads the container to its bundle, and no account of the host has that uid. In the user
// namespace of a rootless engine every uid is the engine's user's own. The path above it must be
// root's as ever. Returns nothing for any other.
std::optional<UniqueFd> open_mapped_roots(const std::string& path, json::View config)
{
    const std::size_t name = path.find_last_of('/') + 1;
    const auto parent =
        files::open_owned_path(path.substr(0, name), "the bundle", Code::invalid_request);
    if (!parent)
        return std::nullopt;
    UniqueFd directory(::openat(parent->get(), path.c_str() + name,
                                O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat file = {};
    const auto root = mapped_root(config);
    if (!root || !directory || ::fstat(directory.get(), &file) != 0 || file.st_uid != *root ||
        (file.st_mode & (S_IWGRP | S_IWOTH)) != 0 || (!files::is_rootless() && has_account(*root)))
        return std::nullopt;
    return directory;
}

} // namespace

Status check_bundle_place(const config::Bundle& bundle, const std::string& path, json::View config)
{
    AH_TRY(const std::string absolute, absolute_path(path), "the bundle");
    auto judged = files::open_owned_path(absolute, "the bundle", Code::invalid_request);
    if (!judged) {
        auto mapped = open_mapped_roots(absolute, config);
        if (!mapped)
            return std::unexpected(std::move(judged).error());
        judged = *std::move(mapped);
    }
    if (!bundle.is(*judged)) {
        return fail(Code::invalid_request, "the bundle: " + in_quotes(absolute) +
                                               " leads to another directory than the one that was "
                                               "read; it was replaced meanwhile");
    }
    return {};
}

Status check_state_place(const std::string& path)
{
    AH_TRY(const std::string absolute, absolute_path(path), "the state directory");
    const auto owned =
        files::check_owned_path(absolute, "the state directory", Code::network_setup_failed);
    return owned || owned.error().number == ENOENT ? Status() : owned;
}

} // namespace anchorhold::verbs
