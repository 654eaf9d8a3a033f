// SPDX-License-Identifier: Apache-2.0
// The policy where it lies: policy.json, and the drop-ins in the folder policy.d beside it.
#pragma once

#include "schema/policy.hpp"

#include <string>

namespace anchorhold {

// Returns the folder of the drop-ins that go with the policy at that path.
std::string drop_in_folder(const std::string& policy_path);
enum class WithoutPolicy : bool {
    refused, // somebody named that file
    fine,
};
// Reads the policy and its drop-ins. Refuses (invalid_policy) a file that anybody but root (or we)
// could change, and a folder of drop-ins likewise. Without the folder there are no drop-ins.
Result<PolicyFiles> read_policy_files(const std::string& path, WithoutPolicy without);

} // namespace anchorhold
