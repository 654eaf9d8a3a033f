// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/plan.hpp"
#include "shim/config/splice.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace anchorhold::edit {

// Edits `linux`: namespaces, resources.pids.limit, resources.cpu.shares, sysctl, seccomp. Returns
// why the seccomp profile could not be rewritten; empty: it could, or there was no need.
Result<std::string> edit_linux(json::View config, const Plan& plan, config::Edits& edits);

// Raises resources.pids.limit of the section `linux` by `extra`, and "pids.max" of
// resources.unified, which goes over it. A limit of 0 or less means none and stays.
Status edit_pids(json::View section, std::int64_t extra, config::Edits& edits);

// Returns a limit in decimal, raised by `extra`. Any text but a positive number as we write it is
// returned as it is: "max", "-1", "010".
std::string raised(std::string_view limit, std::int64_t extra);

} // namespace anchorhold::edit
