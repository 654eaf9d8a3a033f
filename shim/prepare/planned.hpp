// SPDX-License-Identifier: Apache-2.0
// Fourth stage: the plan, and config.json as it will stand. Nothing is written yet.
#pragma once

#include "schema/plan.hpp"
#include "shim/edit/config_edit.hpp"
#include "shim/prepare/seen.hpp"

#include <string>

namespace anchorhold::prepare {

struct RunName { // "KEY.GENERATION" in marks and records
    RunKey key;
    std::string generation;
};

struct PlannedRun {
    Plan plan;
    edit::EditedConfig edited;
    // The findings that would make the sentence false, and were let pass by "voids": "record".
    std::vector<inspect::Finding> voids;
};

// Refuses what the inspection found. Its words come before those of an edit that cannot be made.
Result<PlannedRun> plan(const Session& session, const AskedRun& asked, const ChosenRun& chosen,
                        const SeenRun& seen, const RunName& name);

} // namespace anchorhold::prepare
