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

namespace anchorhold::inspect {

struct Finding {
    std::string where; // "mounts[4]", "process.capabilities.effective"
    std::string what;  // "binds /run, which holds the engine's sockets"
    friend bool operator==(const Finding&, const Finding&) = default;
};

struct InspectionContext {
    std::string bundle;                 // absolute, resolved
    std::vector<std::string> own_paths; // our binaries, state, policy, runtime, bundle: no
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

} // namespace anchorhold::inspect
