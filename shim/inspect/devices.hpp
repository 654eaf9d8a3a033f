// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/inspect/inspection.hpp"

#include <sys/types.h>

namespace anchorhold::inspect {

// Inspects linux.devices, linux.resources.devices and linux.netDevices.
Status inspect_devices(json::View config, Inspection& into);
// Says whether every runtime gives this character device to every container.
bool is_default_device(dev_t device);

} // namespace anchorhold::inspect
