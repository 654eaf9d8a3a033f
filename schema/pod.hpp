// SPDX-License-Identifier: Apache-2.0
// The containers of a pod share the network of its sandbox: what that holds was decided when the
// sandbox was created, and a container may only have less of it. Pure.
#pragma once

#include "schema/record.hpp"

namespace anchorhold {

// What `request`, whose {id} is the sandbox's, gets of the network that `holder`'s run holds: all
// of it (technique pod), told as tightened (pod_has_less) where it asked for more. Nothing when it
// asked for less and for egress off: then it is decided as if it were alone. Refused
// (posture_unavailable): an allow list smaller than the pod's, and under `require: asked` an egress
// the pod does not have; an endpoint the pod does not have (endpoint_unavailable).
// `deny` is the policy's of now: what it, or an `except` of the request's, takes out of the list
// must be out of the pod's as well, or the pod's network gives too much.
Result<std::optional<Decision>> join_pod(const Request& request, const Record& holder,
                                         const std::vector<rules::AllowRule>& deny);

} // namespace anchorhold
