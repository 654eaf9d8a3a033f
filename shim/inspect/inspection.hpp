// SPDX-License-Identifier: Apache-2.0
// Looks for everything in a bundle that could make the posture's promise false. Reads config.json
// and the host's file system, and changes nothing.
#pragma once

#include "schema/json/json.hpp"
#include "schema/record.hpp"
#include "shim/words/command_line.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::inspect {

// One thing that was found.
struct Finding {
    std::string where; // "mounts[4]", "process.capabilities.effective"
    std::string what;  // "binds /run, which holds the engine's sockets"
    // The words of podman and Docker that ask for it: "--pid=host"; empty where they have none.
    std::string option = {}; // NOLINT(readability-redundant-member-init): for g++
    friend bool operator==(const Finding&, const Finding&) = default;
};

// Returns a finding as people read it: "linux.namespaces (--pid=host): the pid namespace is ...".
// Under an engine nobody wrote a config.json, so its members alone say little.
std::string text_of(const Finding& finding);

// The facts that an inspection needs besides config.json.
struct InspectionContext {
    std::string id;     // the container's
    std::string bundle; // absolute, resolved
    // Our programs, state, policy, runtime and bundle. Nothing above these may be bound.
    std::vector<std::string> own_paths;
    bool allow_vsock = false;
    // Pids of the first processes of the containers that share the pod's network. The initializer
    // is for g++.
    std::vector<std::int64_t> pod_inits = {}; // NOLINT(readability-redundant-member-init)
    bool joins_pod = false;                   // this container shares it too
    std::vector<EndpointPlace> places;        // this run's unix: endpoints
    words::Invocation call = {};              // the runtime's command line
};

// The result of an inspection.
struct Inspection {
    // Findings that are invalid whatever the policy says: two network namespaces, ...
    std::vector<Finding> refused;
    // Findings that void the posture: refused as bundle_voids_posture or, where the policy allows
    // them, recorded.
    std::vector<Finding> voids;
    // Ways to the outside that are not the network; recorded.
    std::vector<std::string> other_channels;
    std::vector<std::string> advice; // sentences for the record
    std::vector<BindSource> sources; // the root first; the hook compares them with what was mounted
    // No rule closes all devices in a user namespace of the container's own; the edit adds one.
    bool close_devices = false;
    // The network namespace that the edit replaces: "the host's", or the path that stood there;
    // empty: config.json asks for a fresh one.
    std::string replaced_netns;
};
// Inspects the whole bundle. Errors are members of the wrong type.
Result<Inspection> inspect_bundle(json::View config, const InspectionContext& context);

} // namespace anchorhold::inspect
