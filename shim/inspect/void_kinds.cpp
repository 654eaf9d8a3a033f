// SPDX-License-Identifier: Apache-2.0
#include "shim/inspect/void_kinds.hpp"

#include <algorithm>
#include <string>

namespace anchorhold::inspect {
namespace {

constexpr VoidKind kinds[] = {
    {"linux.namespaces", "no pid or ipc namespace of the container's own"},
    {"linux.namespaces[].path", "joins a pid, ipc or mount namespace that is not its pod's"},
    {"linux.rootfsPropagation", "shares mounts with the host"},
    {"linux.devices[]", "hands in a device that not every container has"},
    {"linux.resources.devices", "no rule closes all devices first"},
    {"linux.resources.devices[]", "opens a device that not every container has"},
    {"linux.netDevices", "moves a network device of the host inside"},
    {"linux.sysctl[]", "changes what a network namespace keeps apart"},
    {"linux.seccomp",
     "a profile that cannot take our rules, or in which the first process cannot live"},
    {"annotations[]", "steers the runtime: a name that begins with run.oci., org.criu., "
                      "module.wasm. or org.systemd.property."},
    {"process.capabilities",
     "CAP_SYS_ADMIN, CAP_SYS_PTRACE or another that is a way out, over the host"},
    {"process.user",
     "an exec as root, or as who may become it, beside kernel files that are writable by now"},
    {"root.path", "is or brings along what mounts[].source may not be"},
    {"mounts[]", "a proc, sysfs or cgroup by which root inside could change the host"},
    {"mounts[].type", "a filesystem that is not the container's own: debugfs, nsfs, devtmpfs, ..."},
    {"mounts[].source", "what leads out: /, /run, /etc, an engine's socket, a device, a broker's "
                        "directory to be written; or what runtimes could read in two ways"},
    {"mounts[].options", "remount, which changes another mount"},
    {"mounts[].options[]",
     "shares mounts with the host; an overlay's layer as mounts[].source; two options in one"},
    {"--cgroup-manager", "a value under which the runtime applies no device rules"},
    {"--rootless", "a value under which the runtime may go without device rules"},
};

// Returns a place without its indices and keys: mounts[4].source, linux.sysctl["net.x"].
std::string general(std::string_view where)
{
    std::string text;
    for (std::size_t at = 0; at < where.size();) {
        text += where[at];
        const std::string_view end = where.substr(at).starts_with("[\"") ? "\"]" : "]";
        at = where[at] == '[' ? where.find(end, at + 1) + end.size() - 1 : at + 1;
    }
    return text;
}

} // namespace

std::span<const VoidKind> void_kinds()
{
    return kinds;
}

const VoidKind* void_kind_at(std::string_view where)
{
    const auto* const found = std::ranges::find(kinds, general(where), &VoidKind::where);
    return found == std::ranges::end(kinds) ? nullptr : found;
}

} // namespace anchorhold::inspect
