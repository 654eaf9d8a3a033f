// SPDX-License-Identifier: Apache-2.0
// A container's place in a pod, of a handler that the policy marks as one whose engine makes pods
// ("cri"). Whose network a container joins is judged by the namespace its config.json names, never
// by an annotation that names a sandbox.
#pragma once

#include "schema/json/json.hpp"
#include "schema/request.hpp"
#include "shim/session.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace anchorhold::prepare {

struct PodPlace {
    PodRole role = PodRole::none;
    bool names_netns = false;        // config.json has a path there
    std::optional<Record> holder;    // the enforced run whose network namespace that is
    std::vector<std::int64_t> inits; // pids: its first process, and those of who joined it
};

// Returns whether the operator's choice of a profile marks this handler as one whose engine makes
// pods. Where an annotation chose, the operator's choice is the policy's default.
bool makes_pods(const Policy& policy, const ProfileChoice& choice);

// Refuses (posture_unavailable) an open container in a network that a confined run holds: a process
// with capabilities over it could undo what confines the others.
Status stay_out_of_cells(const Session& session, json::View config);

// Refuses (invalid_request) the words of two engines at once: in a pod of one, the other's are
// forged (CRI-O hands a pod's labels on as annotations).
Result<PodPlace> find_pod(const Session& session, json::View config);

} // namespace anchorhold::prepare
