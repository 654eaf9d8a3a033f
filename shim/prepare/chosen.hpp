// SPDX-License-Identifier: Apache-2.0
// Second stage: the profile, the place in a pod, and the decision on what this host can do.
#pragma once

#include "schema/decide.hpp"
#include "shim/prepare/asked.hpp"
#include "shim/prepare/pod.hpp"
#include "shim/runtime/helpers.hpp"
#include "shim/session.hpp"

namespace anchorhold::prepare {

struct ChosenRun {
    Request request;
    PodPlace pod;
    Decision decision;
    std::vector<std::string> missing; // of the allow list: what the technique does not carry
    runtime::Helpers helpers;         // empty where decision.untouched: then nothing of ours runs
    bool joins_pod() const { return decision.technique == Technique::pod; }
};

// Chooses the profile once and decides once. Probes the host, from the cache where it may, unless
// the run is left alone. Refuses what policy, pod or host do not give, and a config.json with our
// edit mark: whoever may have one there has judged it before.
Result<ChosenRun> choose(const Session& session, const AskedRun& asked, const ContainerId& id);

} // namespace anchorhold::prepare
