// SPDX-License-Identifier: Apache-2.0
// What create asks of a container's process, asked of the process of an exec.
#pragma once

#include "shim/session.hpp"

#include <string>
#include <string_view>

namespace anchorhold::verbs {

// Returns the place of a mount through which root inside could change the host: a writable sysfs,
// or a proc whose sys/ is writable; empty: there is none. Reads the text of /proc/PID/mountinfo.
std::string writable_kernel_files(std::string_view mountinfo);

// Refuses the process of an exec (its JSON text) for what a bundle is refused for: capabilities
// over the host, root beside writable files of the kernel, the uid of an endpoint's broker. What
// the record lists already is known. Where the policy has "voids": "record", the record lists it
// and the exec goes on. Codes bundle_voids_posture, endpoint_unavailable.
Status check_exec(const Session& session, const OwnRun& run, const std::string& process);

} // namespace anchorhold::verbs
