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
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

namespace anchorhold::inspect {

namespace {

constexpr std::array<std::string_view, 8> known_types{"pid",   "network", "ipc",    "uts",
                                                      "mount", "user",    "cgroup", "time"};

struct Entry {
    json::View view;
    std::string type;
    std::string path; // empty: one of its own
};

// runtime-spec config-linux.md, "Namespaces". An empty path is none to runc.
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

// One that is gone is the runtime's to refuse; anything else that is there is none of ours to join.
bool is_something_else(const std::string& path)
{
    const UniqueFd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
    struct statfs system = {};
    return fd && (::fstatfs(fd.get(), &system) != 0 || system.f_type != NSFS_MAGIC);
}

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

// Processes of one pid namespace take each other's sockets: only who shares the network may.
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
        {where, "joins the " + entry.type + " namespace " + printable(entry.path) +
                    (of_the_pod ? " of a pod whose network is not its own; do not share processes "
                                  "in this pod, or ask for what the pod has"
                                : "; leave the path out, or, if this is a pod, give its handler's "
                                  "profile \"cri\": true")});
}

void inspect_joined(const Entry& entry, const InspectionContext& context, Inspection& into)
{
    if (entry.path.empty())
        return;
    const std::string where = entry.view.where() + ".path";
    if (is_something_else(entry.path)) {
        into.refused.push_back({where, printable(entry.path) + " is not a namespace"});
    } else if (entry.type == "network") {
        into.replaced_netns = entry.path; // and a fresh one stands there then
    } else if (entry.type == "pid" || entry.type == "ipc") {
        inspect_shared(entry, context, into);
    } else if (entry.type == "mount") {
        into.voids.push_back({where, "joins the mount namespace " + printable(entry.path) +
                                         "; leave the path out, for one of its own"});
    }
}

} // namespace

// Without a map the runtime would choose one.
Result<bool> has_own_users(json::View config)
{
    AH_TRY(const auto entries, read_entries(config));
    AH_TRY(const auto ranges, config::elements(config::member(config, "linux"), "uidMappings"));
    bool bounded = !ranges.empty();
    for (const json::View range : ranges) {
        AH_CHECK(range.object());
        const auto first = config::member(range, "hostID"); // root can only be the first of a range
        AH_TRY(const std::int64_t host, first ? first->integer() : Result<std::int64_t>(0));
        bounded = bounded && host > 0;
    }
    return bounded && std::ranges::any_of(entries, [](const Entry& entry) {
               return entry.type == "user" && entry.path.empty();
           });
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
    // Where podman, CNI and `ip netns` keep what they made. A path in /proc is another process's.
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
        // crun takes the host's network from a second entry (measured).
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
    // Where there is none at all the edit gives every one; a mount namespace it always gives.
    for (const std::string_view type : {"pid", "ipc"}) {
        if (!entries.empty() && lacks(type)) {
            into.voids.push_back(
                {"linux.namespaces",
                 "the " + std::string(type) +
                     " namespace is the host's; add {\"type\":" + json::quote(type) + "}"});
        }
    }
    return {};
}

} // namespace anchorhold::inspect
