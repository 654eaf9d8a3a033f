// SPDX-License-Identifier: Apache-2.0
// Everything that voids a posture, by the place where it is found. SECURITY.md and
// anchorhold-policy.json(5) have the same table; voids_test.cpp compares them line by line.
#pragma once

#include <span>
#include <string_view>

namespace anchorhold::inspect {

struct VoidKind {
    std::string_view where; // "mounts[].source"; "[]" is any element or member
    std::string_view what;  // a sentence without its end
};
std::span<const VoidKind> void_kinds();

// Returns the kind of a finding by its place ("mounts[4].source"); null: it is not in the table.
const VoidKind* void_kind_at(std::string_view where);

} // namespace anchorhold::inspect
