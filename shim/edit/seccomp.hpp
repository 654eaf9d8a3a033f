// SPDX-License-Identifier: Apache-2.0
// Denies the system calls that go round a network namespace, in the container's seccomp profile. A
// profile that cannot be rewritten is a void; `obstacle` says why.
#pragma once

#include "schema/json/json.hpp"
#include "schema/plan.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::edit {

// The edit of one config.json.
struct SeccompEdit {
    std::vector<json::Splice> splices;
    // Why the profile cannot be rewritten; empty: it was, or there was no need.
    std::string obstacle;
};
// Returns splices of `config`'s linux.seccomp, or one that inserts it. When `linux` itself is
// missing or empty, the caller (linux.cpp) inserts `whole_profile()` together with the other new
// members.
Result<SeccompEdit> edit_seccomp(json::View config, const SeccompPlan& plan);

// Returns seccomp's words for the calling conventions of a machine, the native one first; `machine`
// is that of uname -m; none for a machine that is not listed.
std::vector<std::string> architectures_of(std::string_view machine);
// The machine that this program was built for; empty: not listed.
extern const std::string_view native_machine;
// Returns the profile for a config that has none: it allows by default and has the denials as
// rules.
std::string whole_profile(const SeccompPlan& plan, std::string_view machine = native_machine);

} // namespace anchorhold::edit
