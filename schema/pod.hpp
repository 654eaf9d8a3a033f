// SPDX-License-Identifier: Apache-2.0
// A container that joins a pod. The containers of a pod share the network of its sandbox. That
// network was decided when the sandbox was created, and a container may only have less of it. Pure.
#pragma once

#include "schema/record.hpp"

namespace anchorhold {

// Decides what `request` gets of the network that the run of `holder` holds; {id} in the request is
// already the sandbox's. It gets the whole network (technique pod). Where it asked for more, the
// decision says so (pod_has_less). Returns nothing when it asked for less and for egress off: the
// caller then decides it as if it were alone.
// Refuses (posture_unavailable) an allow list smaller than the pod's, and under `require: asked` an
// egress that the pod does not have. Refuses (endpoint_unavailable) an endpoint that the pod does
// not have.
// `deny` is the deny list of today's policy. What it, or an `except` of the request, takes out of
// the allow list must be out of the pod's list as well. Otherwise the pod's network gives too much.
Result<std::optional<Decision>> join_pod(const Request& request, const Record& holder,
                                         const std::vector<rules::AllowRule>& deny);

} // namespace anchorhold
