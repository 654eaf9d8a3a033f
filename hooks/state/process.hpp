// SPDX-License-Identifier: Apache-2.0
// Who a process is, and whether it still is. A pid alone is reused; pid and start time are not.
#pragma once

#include "schema/file_identity.hpp"
#include "schema/record.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace anchorhold::state {

// Nothing when there is no such process (or it is a zombie, which can hold nothing).
Result<std::optional<ProcessIdentity>> identify(pid_t pid);
// The same from the text of /proc/PID/stat.
Result<std::optional<ProcessIdentity>> read_stat(pid_t pid, std::string_view stat);
// False for pid 0; true for what cannot be looked at.
bool is_alive(const ProcessIdentity& process);
// A process that is dying is given a moment; whether it is gone.
bool is_gone_within(const ProcessIdentity& process, std::chrono::milliseconds bound);
Result<std::string> boot_id();
// Identity of /proc/PID/ns/NAME; pid 0 is ourselves.
Result<FileIdentity> namespace_of(pid_t pid, const char* name);
// Is a process that we see in that namespace? One that we may not look at could be.
Result<bool> is_inhabited(const FileIdentity& place, const char* name);
// SO_NETNS_COOKIE of our network namespace, which needs no /proc to be asked; 0 before Linux 5.14.
std::uint64_t netns_cookie();
// 16 random hex digits (getrandom(2)).
Result<std::string> random_generation();

// Every process of this pid namespace; some may have ended meanwhile.
Result<std::vector<pid_t>> every_process();

} // namespace anchorhold::state
