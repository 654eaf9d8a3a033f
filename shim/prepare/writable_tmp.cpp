// SPDX-License-Identifier: Apache-2.0
// The image's own /tmp decides whether the command can write /tmp, with a tmpfs on it or not: runc
// 1.1.5 gives a tmpfs the mode of the directory that it covers, whatever `mode=` asks for
// (measured).
#include "shim/prepare/writable_tmp.hpp"

#include "shim/inspect/command_user.hpp"

#include <algorithm>
#include <string_view>
#include <sys/stat.h>

namespace anchorhold::prepare {

namespace {

// The mount on /tmp.
enum class Cover : std::uint8_t {
    none,
    tmpfs,
    other, // a volume, say
};

Cover cover_of_tmp(json::View config)
{
    Cover cover = Cover::none;
    const auto mounts = config.find("mounts");
    if (!mounts)
        return cover;
    for (const json::View mount : mounts->items()) {
        const auto destination = mount.find("destination");
        const auto place = destination ? destination->string() : Result<std::string>("");
        if (!place || (*place != "/tmp" && *place != "/tmp/"))
            continue;
        const auto type = mount.find("type");
        const auto name = type ? type->string() : Result<std::string>("");
        cover = name && *name == "tmpfs" ? Cover::tmpfs : Cover::other;
    }
    return cover;
}

bool is_read_only(json::View config)
{
    const auto root = config.find("root");
    const auto flag = root ? root->find("readonly") : std::nullopt;
    const auto truth = flag ? flag->boolean() : Result<bool>(false);
    return truth && *truth;
}

bool may_write(const struct stat& place, const inspect::CommandUser& user)
{
    if (user.overrides_modes && user.host_uid == 0)
        return true;
    if (place.st_uid == user.host_uid)
        return (place.st_mode & S_IWUSR) != 0;
    const bool in_group =
        place.st_gid == user.host_gid ||
        std::ranges::find(user.host_groups, place.st_gid) != user.host_groups.end();
    return (place.st_mode & (in_group ? S_IWGRP : S_IWOTH)) != 0;
}

} // namespace

std::optional<std::string> tmp_advice(json::View config, const std::string& rootfs,
                                      const inspect::CommandUser& user)
{
    const Cover cover = cover_of_tmp(config);
    if (cover == Cover::other)
        return std::nullopt; // a volume has its own modes, which we do not judge
    if (cover == Cover::none && is_read_only(config)) {
        return "/tmp lies on a read-only root: agents that cannot write it fail silently; mount a "
               "tmpfs there";
    }
    struct stat place = {};
    if (::lstat((rootfs + "/tmp").c_str(), &place) != 0) {
        if (cover == Cover::tmpfs)
            return std::nullopt; // the runtime makes it with the mode that was asked for
        return "the image has no /tmp: agents that cannot write it fail silently";
    }
    if (!S_ISDIR(place.st_mode) || may_write(place, user))
        return std::nullopt;
    return "the command's user cannot write /tmp (the image's own /tmp decides, also below a "
           "tmpfs): agents fail silently; chmod 1777 it in the image";
}

} // namespace anchorhold::prepare
