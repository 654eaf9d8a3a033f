// SPDX-License-Identifier: Apache-2.0
#include "shim/inspect/filesystems.hpp"

#include "hooks/files/mountinfo.hpp"
#include "hooks/files/whole_file.hpp"
#include "tests/shim/inspect/seen.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

namespace anchorhold::filesystems_test {

using namespace inspect;
namespace {

// How a filesystem's mount may stand in config.json.
std::string mount_of(const std::string& type, const std::string& source, const std::string& options)
{
    return R"({"destination": "/data", "type": ")" + type + R"(", "source": )" +
           json::quote(source) + R"(, "options": [)" + options + "]}";
}

Seen seen_with(const std::string& mount, const std::string& more = "")
{
    const Scratch scratch;
    return seen_in(R"({"mounts": [)" + mount + "]" + more + "}", context_of(scratch));
}

std::string namespaces(const std::string& more)
{
    return R"(, "linux": {"namespaces": [{"type": "pid"}, {"type": "ipc"}, {"type": "network"},
              {"type": "mount"})" +
           more + "}";
}

const std::string by_user =
    R"(, "process": {"user": {"uid": 1000, "gid": 1000}, "noNewPrivileges": true,
       "capabilities": {}})";
const std::string own_users =
    R"(, {"type": "user"}], "uidMappings": [{"containerID": 0, "hostID": 100000, "size": 65536}])";

// Returns where a filesystem of that type is mounted on this machine; empty where it is not.
std::string place_of(const std::string& type)
{
    const auto table = files::read_file("/proc/self/mountinfo", files::most_mountinfo);
    REQUIRE(table.has_value());
    for (const files::HostMount& mount : files::read_mountinfo(table->value_or("")))
        if (mount.type == type && ::access(mount.place.c_str(), F_OK) == 0)
            return mount.place;
    return "";
}

} // namespace

TEST_CASE("a filesystem is harmless by its own rule, whatever surrounds it")
{
    for (unsigned bits = 0; bits < 64; ++bits) {
        const Surroundings around{.writable = (bits & 1) != 0,
                                  .host_root = (bits & 2) != 0,
                                  .own_users = (bits & 4) != 0,
                                  .own_cgroups = (bits & 8) != 0,
                                  .delegated = (bits & 32) != 0,
                                  .sys_is_read_only = (bits & 16) != 0};
        INFO(bits);
        const Verdict by_root = around.own_users   ? Verdict::harmless
                                : around.host_root ? Verdict::voids
                                                   : Verdict::advised;
        const auto unless = [](bool harmless, Verdict other) {
            return harmless ? Verdict::harmless : other;
        };
        CHECK(judge(Harmless::never, around) == Verdict::voids);
        CHECK(judge(Harmless::always, around) == Verdict::harmless);
        CHECK(judge(Harmless::as_channel, around) == Verdict::channel);
        CHECK(judge(Harmless::read_only_to_root, around) == unless(!around.writable, by_root));
        CHECK(judge(Harmless::read_only, around) == unless(!around.writable, Verdict::voids));
        CHECK(judge(Harmless::own_cgroups, around) ==
              unless(!around.writable || around.own_cgroups ||
                         (around.own_users && !around.delegated),
                     Verdict::voids));
        CHECK(judge(Harmless::read_only_sys, around) ==
              unless(!around.writable || around.sys_is_read_only, by_root));
    }
}

TEST_CASE("every filesystem of the table is judged when it is mounted by its type")
{
    for (const Filesystem& row : filesystems()) {
        const std::string type(row.type);
        INFO(type);
        const bool writable = !seen_with(mount_of(type, "x", "")).voids.empty();
        const bool read_only = !seen_with(mount_of(type, "x", R"("ro")")).voids.empty();
        const bool never = row.mounted == Harmless::never;
        CHECK(writable == (never || row.mounted == Harmless::read_only_to_root ||
                           row.mounted == Harmless::own_cgroups ||
                           row.mounted == Harmless::read_only_sys));
        CHECK(read_only == never);
    }
    CHECK(!seen_with(mount_of("xfs", "x", R"("ro")")).voids.empty());
    CHECK(filesystem_of_type("fuse.sshfs") == filesystem_of_type("fuse"));
    CHECK(filesystem_of_magic(0) == nullptr);
}

TEST_CASE("a bind of the host's sysfs is judged as a sysfs is")
{
    const std::string said =
        "mounts[0].source: root inside can write the host's sysfs; mount it \"ro\"";
    for (const std::string options :
         {R"("bind")", R"("rbind", "rw")", R"("bind", "ro", "rrw")", R"("bind", "rrw", "ro")"}) {
        INFO(options);
        const std::string mount = mount_of("bind", "/sys/kernel", options);
        const Seen by_root = seen_with(mount);
        REQUIRE(!by_root.voids.empty());
        CHECK(by_root.voids.back() == said);
        CHECK(seen_with(mount, namespaces("]") + by_user).advice.front() == said);
    }
    const std::string plain = mount_of("bind", "/sys/kernel", R"("bind")");
    CHECK(seen_with(mount_of("bind", "/sys/kernel", R"("bind", "ro")")).voids == Texts());
    CHECK(seen_with(mount_of("bind", "/sys/kernel", R"("bind", "rro", "rw")")).voids == Texts());
    CHECK(seen_with(plain, R"(, "linux": {"readonlyPaths": ["/data/"]})").voids == Texts());
    CHECK(seen_with(plain, namespaces(own_users)).voids == Texts());
    // An idmap gives the root inside what belongs to the host's.
    for (const std::string idmapped : {R"("bind", "idmap")", R"("bind", "ridmap=uids=0-0-1")"})
        CHECK(seen_with(mount_of("bind", "/sys/kernel", idmapped), namespaces(own_users)).voids ==
              Texts{said});
}

TEST_CASE("cgroups are void where they can be written and are not the container's alone")
{
    const std::string cgroups = mount_of("cgroup2", "cgroup", R"("rw")");
    const std::string where = "mounts[0]: who can write the host's cgroups can leave the "
                              "container's and end the host's processes; mount it \"ro\", or add "
                              R"({"type":"cgroup"} to linux.namespaces)";
    CHECK(seen_with(cgroups, namespaces("]")).voids == Texts{where});
    CHECK(seen_with(cgroups, namespaces("]") + by_user).voids == Texts{where});
    CHECK(seen_with(cgroups, namespaces(R"(, {"type": "cgroup", "path": "/proc/1/ns/cgroup"}])"))
              .voids == Texts{where});
    CHECK(seen_with(cgroups, namespaces(R"(, {"type": "cgroup"}])")).voids == Texts());
    CHECK(seen_with(mount_of("cgroup", "cgroup", R"("ro")"), namespaces("]")).voids == Texts());
    for (const std::string type : {"cgroup", "cgroup2"}) {
        const std::string place = place_of(type);
        if (place.empty())
            continue;
        INFO(place);
        const Seen bound =
            seen_with(mount_of("bind", place, R"("bind")"), namespaces(R"(, {"type": "cgroup"}])"));
        CHECK(bound.voids == Texts{"mounts[0].source: who can write the host's cgroups can leave "
                                   "the container's; mount it \"ro\""});
        CHECK(seen_with(mount_of("bind", place, R"("bind", "ro")")).voids == Texts());
    }
}

TEST_CASE("every filesystem of the kernel that this machine has mounted is a void when bound")
{
    std::size_t looked_at = 0;
    for (const Filesystem& row : filesystems()) {
        const std::string place = place_of(std::string(row.type));
        if (row.bound != Harmless::never || place.empty() || row.type == "devtmpfs")
            continue;
        ++looked_at;
        INFO(place);
        CHECK(seen_with(mount_of("bind", place, R"("bind", "ro")")).voids.size() == 1);
    }
    CHECK(looked_at > 0); // /proc at least
}

TEST_CASE("a remount is a void, as it changes what another entry mounted")
{
    for (const std::string options : {R"("remount", "rw")", R"("bind", "remount")"})
        CHECK(seen_with(mount_of("tmpfs", "tmpfs", options)).voids ==
              Texts{"mounts[0].options: \"remount\" changes another mount; give that one its "
                    "options"});
}

} // namespace anchorhold::filesystems_test
