// SPDX-License-Identifier: Apache-2.0
// What in a bundle could make the posture's sentence false (DESIGN 8). Reads config.json and the
// host's file system, changes nothing.
#pragma once

#include "schema/json/json.hpp"
#include "schema/record.hpp"
#include "shim/words/command_line.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold {

struct Finding {
    std::string where; // "mounts[4]", "process.capabilities.effective"
    std::string what;  // "binds /run, which holds the engine's sockets"
    friend bool operator==(const Finding&, const Finding&) = default;
};

struct InspectionContext {
    std::string bundle;                 // absolute, resolved
    std::vector<std::string> own_paths; // our binaries, state, policy, delegate, bundle: no
                                        // ancestor of these may be bound
    bool allow_vsock = false;
    // Pids: first processes of those who share the pod's network. The initializer is for g++.
    std::vector<std::int64_t> pod_inits = {}; // NOLINT(readability-redundant-member-init)
    bool joins_pod = false;                   // and this container does, too
    std::vector<EndpointPlace> places;
};

struct Inspection {
    std::vector<Finding> refused; // invalid whatever the policy says: two network namespaces, ...
    std::vector<Finding> voids;   // bundle_voids_posture, or recorded
    std::vector<std::string> other_channels;
    std::vector<std::string> advice;
    std::vector<BindSource> sources; // the root first; for the hook to compare with
    std::string replaced_netns;      // "the host's", the path that stood there; empty: a fresh one
};
Result<Inspection> inspect_bundle(json::View config, const InspectionContext& context);

// What network namespace config.json names.
Result<GivenNetns> given_netns(json::View config);
// Its path; empty where there is none, or no such namespace at all.
Result<std::string> given_netns_path(json::View config);

// "CAP_SYS_ADMIN, CAP_BPF": what a process of the host's user namespace holds that would void any
// posture; empty when nothing does.
Result<std::string> voiding_capabilities_of(const std::optional<json::View>& process);

// Files, pipes, terminals, /dev/null and its like, and AF_UNIX sockets may be handed to a
// container; everything else is refused (invalid_request): sockets of the host's network, nsfs,
// directories, O_PATH, tun, pidfds, io_uring. Hands back the line for other_channels; nothing for
// a closed descriptor or a harmless one.
Result<std::optional<std::string>> check_descriptor(int fd);
// How many descriptors from 3 on the container will be handed: $LISTEN_FDS (sd_listen_fds(3)) and
// --preserve-fds.
Result<unsigned> count_handed(const Invocation& call);
// 0 to 2, and from 3 on as many as are `preserved`.
Result<std::vector<std::string>> check_descriptors(unsigned preserved);

// No component of an absolute path may be writable by anyone but root (or our euid).
Status check_owned_path(const std::string& path, std::string_view what, Code code);

} // namespace anchorhold
