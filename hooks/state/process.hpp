// SPDX-License-Identifier: Apache-2.0
// Says who a process is, and whether it still lives. The kernel uses a pid again for another
// process, but never together with the same start time.
#pragma once

#include "schema/file_identity.hpp"
#include "schema/record.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace anchorhold::state {

// Returns a process's identity. Returns nullopt when there is no such process, or when it is a
// zombie: a zombie holds nothing any more.
Result<std::optional<ProcessIdentity>> identify(pid_t pid);
// Does the same with the text of /proc/PID/stat.
Result<std::optional<ProcessIdentity>> read_stat(pid_t pid, std::string_view stat);
// Says whether a process lives: false for pid 0, true for a process that cannot be looked at.
bool is_alive(const ProcessIdentity& process);
// The answer of looking for a process that was seen in some boot and pid namespace.
enum class Lives : std::uint8_t {
    yes,
    no,
    unknown, // it can only be looked for from its own pid namespace
};
// Looks for a process that was written down at `since` (seconds since the epoch), in that boot and
// pid namespace. Nothing of an earlier boot lives. Another boot id alone does not prove another
// boot: containers may show one of their own.
Result<Lives> look_for(const ProcessIdentity& process, std::string_view boot,
                       const FileIdentity& pidns, std::int64_t since);
// Waits at most `bound` for a process to end. Returns whether it is gone.
bool is_gone_within(const ProcessIdentity& process, std::chrono::milliseconds bound);
Result<std::string> boot_id();
// Returns the identity of /proc/PID/ns/NAME. Pid 0 means ourselves.
Result<FileIdentity> namespace_of(pid_t pid, const char* name);
// Says whether any process that we see is in that namespace. A process that we may not look at
// counts as one that is in it.
Result<bool> is_inhabited(const FileIdentity& place, const char* name);
// Returns SO_NETNS_COOKIE of our network namespace; asking for it needs no /proc. Returns 0 before
// Linux 5.14.
std::uint64_t netns_cookie();
// Returns 16 random hex digits (getrandom(2)).
Result<std::string> random_generation();

// Returns every process of this pid namespace. Some may have ended meanwhile.
Result<std::vector<pid_t>> every_process();

} // namespace anchorhold::state
