// SPDX-License-Identifier: Apache-2.0
#include "shim/inspect/namespaces.hpp"

#include "hooks/state/process.hpp"
#include "schema/file_identity.hpp"
#include "schema/unique_fd.hpp"
#include "shim/config/setkey_hook.hpp"
#include "shim/config/view.hpp"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <limits>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

namespace anchorhold::inspect {

namespace {

constexpr std::array<std::string_view, 8> known_types{"pid",   "network", "ipc",    "uts",
                                                      "mount", "user",    "cgroup", "time"};

// One entry of linux.namespaces.
struct Entry {
    json::View view;
    std::string type;
    std::string path; // empty: a new namespace
};

// Reads linux.namespaces (runtime-spec config-linux.md, "Namespaces"). runc takes an empty path for
// none.
Result<std::vector<Entry>> read_entries(json::View config)
{
    std::vector<Entry> entries;
    AH_TRY(const auto views, config::elements(config::member(config, "linux"), "namespaces"));
    for (const json::View view : views) {
        AH_CHECK(view.object());
        Entry entry{.view = view, .type = {}, .path = {}};
        AH_TRY(entry.type, config::text_of(view, "type"));
        AH_TRY(entry.path, config::text_of(view, "path"));
        entries.push_back(std::move(entry));
    }
    return entries;
}

// Says whether the path leads to something that is no namespace. A path that leads nowhere is the
// runtime's to refuse.
bool is_something_else(const std::string& path)
{
    const UniqueFd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
    struct statfs system = {};
    return fd && (::fstatfs(fd.get(), &system) != 0 || system.f_type != NSFS_MAGIC);
}

// Says whether the namespace is that of a container which shares the pod's network.
bool is_of_the_pod(const Entry& entry, const InspectionContext& context)
{
    struct stat there = {};
    if (::stat(entry.path.c_str(), &there) != 0)
        return false;
    return std::ranges::any_of(context.pod_inits, [&](std::int64_t init) {
        const auto its = state::namespace_of(static_cast<pid_t>(init), entry.type.c_str());
        return its && *its == FileIdentity{there.st_dev, there.st_ino};
    });
}

// Inspects a pid or ipc namespace that is joined. Processes of one pid namespace can take each
// other's sockets, so only those that share the network may share it.
void inspect_shared(const Entry& entry, const InspectionContext& context, Inspection& into)
{
    const std::string where = entry.view.where() + ".path";
    const bool of_the_pod = is_of_the_pod(entry, context);
    if (of_the_pod && context.joins_pod)
        return;
    if (of_the_pod && entry.type == "ipc") {
        into.other_channels.push_back(where + ": the pod's ipc namespace");
        return;
    }
    into.voids.push_back(
        {where,
         "joins the " + entry.type + " namespace " + printable(entry.path) +
             (of_the_pod ? " of a pod whose network is not its own; do not share processes "
                           "in this pod, or ask for what the pod has"
                         : "; leave the path out, or, if this is a pod, give its handler's "
                           "profile \"cri\": true"),
         "--" + entry.type + "=container:"});
}

void inspect_joined(const Entry& entry, const InspectionContext& context, Inspection& into)
{
    if (entry.path.empty())
        return;
    const std::string where = entry.view.where() + ".path";
    if (is_something_else(entry.path)) {
        into.refused.push_back({where, printable(entry.path) + " is not a namespace"});
    } else if (entry.type == "network") {
        into.replaced_netns = entry.path; // the edit puts a fresh one there
    } else if (entry.type == "pid" || entry.type == "ipc") {
        inspect_shared(entry, context, into);
    } else if (entry.type == "mount") {
        into.voids.push_back({where, "joins the mount namespace " + printable(entry.path) +
                                         "; leave the path out, for one of its own"});
    }
}

} // namespace

// A user namespace without a map is not enough: the runtime would choose the map.
Result<bool> has_own_users(json::View config)
{
    AH_TRY(const auto entries, read_entries(config));
    AH_TRY(const auto ranges, config::elements(config::member(config, "linux"), "uidMappings"));
    bool bounded = !ranges.empty();
    for (const json::View range : ranges) {
        AH_CHECK(range.object());
        // Root can only be the first id of a range.
        const auto first = config::member(range, "hostID");
        AH_TRY(const std::int64_t host, first ? first->integer() : Result<std::int64_t>(0));
        if (host < 0 || host >= std::numeric_limits<uid_t>::max()) // crun might cut it to 32 bits
            return std::unexpected(first->expected("a user or group id"));
        bounded = bounded && host > 0;
    }
    return bounded && std::ranges::any_of(entries, [](const Entry& entry) {
               return entry.type == "user" && entry.path.empty();
           });
}

Result<bool> has_own_cgroups(json::View config)
{
    AH_TRY(const auto entries, read_entries(config));
    return std::ranges::any_of(
        entries, [](const Entry& entry) { return entry.type == "cgroup" && entry.path.empty(); });
}

Result<std::string> given_netns_path(json::View config)
{
    AH_TRY(const auto entries, read_entries(config));
    const auto network = std::ranges::find(entries, "network", &Entry::type);
    return network == entries.end() ? std::string() : network->path;
}

Result<GivenNetns> given_netns(json::View config)
{
    AH_TRY(const auto entries, read_entries(config));
    const auto network = std::ranges::find(entries, "network", &Entry::type);
    if (network == entries.end())
        return GivenNetns::host;
    if (network->path.empty()) {
        AH_TRY(const bool plugged, config::plugs_in_by_hook(config));
        return plugged ? GivenNetns::engines : GivenNetns::fresh; // Docker from 28 on plugs in late
    }
    // Below these directories podman, CNI and `ip netns` keep the namespaces that they made. A path
    // in /proc belongs to another process.
    const bool made =
        is_plain_path(network->path) &&
        (network->path.starts_with("/run/netns/") || network->path.starts_with("/var/run/netns/"));
    return made ? GivenNetns::engines : GivenNetns::other;
}

Status inspect_namespaces(json::View config, const InspectionContext& context, Inspection& into)
{
    AH_TRY(const auto entries, read_entries(config));
    std::vector<std::string> seen;
    for (const Entry& entry : entries) {
        if (std::ranges::find(known_types, entry.type) == known_types.end()) {
            into.refused.push_back({entry.view.where() + ".type",
                                    in_quotes(entry.type, 64) + " is not a type of namespace"});
        }
        // A second entry makes crun take the host's network (measured).
        if (std::ranges::find(seen, entry.type) != seen.end()) {
            into.refused.push_back({entry.view.where(), "a second " + printable(entry.type, 64) +
                                                            " namespace; name each type once"});
        }
        seen.push_back(entry.type);
        inspect_joined(entry, context, into);
    }
    const auto lacks = [&](std::string_view type) {
        return std::ranges::find(seen, type) == seen.end();
    };
    if (lacks("network"))
        into.replaced_netns = "the host's";
    // The edit gives every namespace where there is no entry at all; a mount namespace it always
    // gives.
    for (const std::string_view type : {"pid", "ipc"}) {
        if (!entries.empty() && lacks(type)) {
            into.voids.push_back(
                {"linux.namespaces",
                 "the " + std::string(type) +
                     " namespace is the host's; add {\"type\":" + json::quote(type) + "}",
                 "--" + std::string(type) + "=host"});
        }
    }
    return {};
}

} // namespace anchorhold::inspect
