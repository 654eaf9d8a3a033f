// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/inspect/inspection.hpp"

namespace anchorhold::inspect {

// Lists the hooks that run after ours has looked at the network. Those of poststart run on the
// host, beside the command; those of createContainer and startContainer run in the container's
// namespaces.
Status inspect_late_hooks(json::View config, Inspection& into);

} // namespace anchorhold::inspect
