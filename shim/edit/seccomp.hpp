// SPDX-License-Identifier: Apache-2.0
// System calls that go round a network namespace, denied in the container's seccomp profile
// (DESIGN 8a). A profile that cannot be rewritten is a void, said by `obstacle`.
#pragma once

#include "schema/json/json.hpp"
#include "schema/plan.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::edit {

struct SeccompEdit {
    std::vector<json::Splice> splices;
    std::string obstacle; // why the profile cannot be rewritten; empty: it was, or needed nothing
};
// Splices of `config`'s linux.seccomp, or the insertion of one. When `linux` itself is missing or
// empty the caller (config_edit) inserts `whole_profile()` together with its other new members.
Result<SeccompEdit> edit_seccomp(json::View config, const SeccompPlan& plan);

// Seccomp's words for the calling conventions a machine runs, native first; `machine` as uname -m.
std::vector<std::string> architectures_of(std::string_view machine);
extern const std::string_view native_machine;
// The profile of a config that has none: default allow, the denials as rules.
std::string whole_profile(const SeccompPlan& plan, std::string_view machine = native_machine);

} // namespace anchorhold::edit
