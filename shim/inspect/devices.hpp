// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/inspect/inspection.hpp"

#include <sys/types.h>

namespace anchorhold::inspect {

// linux.devices, linux.resources.devices, linux.netDevices
Status inspect_devices(json::View config, Inspection& into);
// Does every runtime give this character device to every container?
bool is_default_device(dev_t device);

} // namespace anchorhold::inspect
