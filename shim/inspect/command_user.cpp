// SPDX-License-Identifier: Apache-2.0
// The container's command as a user of the host, and what that user could do to a broker.
#include "shim/inspect/command_user.hpp"

#include "shim/config/view.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <sys/stat.h>

namespace anchorhold::inspect {

namespace {

// The id that stat(2) shows for one without a mapping; only the mode bits for others count for it.
constexpr std::int64_t unmapped_id = 65534;

Result<std::int64_t> id_of(const std::optional<json::View>& value)
{
    if (!value)
        return 0;
    AH_TRY(const std::int64_t id, value->integer());
    if (id < 0 || id >= std::numeric_limits<uid_t>::max())
        return std::unexpected(value->expected("a user or group id"));
    return id;
}

// Reads how many ids a range has. A range that maps every id has 4294967295, which is no id.
Result<std::int64_t> size_of(const std::optional<json::View>& value)
{
    if (!value)
        return 0;
    AH_TRY(const std::int64_t size, value->integer());
    if (size < 0 || size > std::numeric_limits<uid_t>::max())
        return std::unexpected(value->expected("a number of ids"));
    return size;
}

// The user namespace of the command.
enum class Users : std::uint8_t {
    host,
    own,    // made for this container
    joined, // named by a path
};

Result<Users> users_of(const std::optional<json::View>& linux_member)
{
    AH_TRY(const auto entries, config::elements(linux_member, "namespaces"));
    for (const json::View entry : entries) {
        AH_TRY(const std::string type, config::text_of(entry, "type"));
        AH_TRY(const std::string path, config::text_of(entry, "path"));
        if (type == "user")
            return path.empty() ? Users::own : Users::joined;
    }
    return Users::host;
}

// Returns the host's id of an id inside. The map of a joined namespace does not stand in
// config.json, so an id in it counts as unmapped.
Result<std::int64_t> outside(std::int64_t id, Users users, const std::optional<json::View>& map)
{
    if (users == Users::host)
        return id;
    if (users == Users::joined || !map)
        return unmapped_id;
    AH_TRY(const auto ranges, map->array());
    for (const json::View range : ranges) {
        AH_TRY(const std::int64_t inside, id_of(range.find("containerID")));
        AH_TRY(const std::int64_t host, id_of(range.find("hostID")));
        AH_TRY(const std::int64_t size, size_of(range.find("size")));
        if (id >= inside && id - inside < size)
            return host + (id - inside);
    }
    return unmapped_id;
}

bool holds(const std::optional<json::View>& capabilities, std::string_view set,
           std::string_view name)
{
    const auto list = config::member(capabilities, set);
    return list && std::ranges::any_of(list->items(), [&](const json::View& item) {
               const auto text = item.string();
               return text && *text == name;
           });
}

// Says whether the command may become any uid. Without no_new_privs a set-user-ID file of the image
// is as good as CAP_SETUID.
bool takes_any_uid(const std::optional<json::View>& process, std::int64_t uid)
{
    const auto capabilities = config::member(process, "capabilities");
    constexpr std::array<std::string_view, 5> sets{"bounding", "effective", "inheritable",
                                                   "permitted", "ambient"};
    const auto flag = config::member(process, "noNewPrivileges");
    const auto kept = flag ? flag->boolean() : Result<bool>(false);
    return uid == 0 || !kept || !*kept || std::ranges::any_of(sets, [&](std::string_view set) {
               return holds(capabilities, set, "CAP_SETUID");
           });
}

} // namespace

Result<CommandUser> command_user(json::View config)
{
    const auto process = config::member(config, "process");
    const auto linux_member = config::member(config, "linux");
    const auto user = config::member(process, "user");
    AH_TRY(const Users users, users_of(linux_member));
    AH_TRY(const std::int64_t uid, id_of(config::member(user, "uid")));
    AH_TRY(const std::int64_t gid, id_of(config::member(user, "gid")));
    const auto gid_map = config::member(linux_member, "gidMappings");
    AH_TRY(const std::int64_t host_uid,
           outside(uid, users, config::member(linux_member, "uidMappings")));
    AH_TRY(const std::int64_t host_gid, outside(gid, users, gid_map));

    CommandUser found{.host_uid = static_cast<uid_t>(host_uid),
                      .host_gid = static_cast<gid_t>(host_gid),
                      .host_groups = {}};
    AH_TRY(const auto groups, config::elements(user, "additionalGids"));
    for (const json::View group : groups) {
        AH_TRY(const std::int64_t inside, id_of(group));
        AH_TRY(const std::int64_t host, outside(inside, users, gid_map));
        found.host_groups.push_back(static_cast<gid_t>(host));
    }
    // exec gives root what its bounding set holds, and others only the ambient set
    // (capabilities(7)).
    const auto capabilities = config::member(process, "capabilities");
    found.overrides_modes =
        users == Users::host &&
        holds(capabilities, uid == 0 ? "bounding" : "ambient", "CAP_DAC_OVERRIDE");
    found.takes_any_uid = users != Users::own && takes_any_uid(process, uid);
    found.own_users = users == Users::own;
    return found;
}

} // namespace anchorhold::inspect
