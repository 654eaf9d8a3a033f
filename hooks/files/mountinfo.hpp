// SPDX-License-Identifier: Apache-2.0
// Reads the table /proc/PID/mountinfo (proc(5)). Pure: works on its text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::files {

struct HostMount {
    std::string place; // the path on which it is mounted
    std::string type;  // of the file system: "ext4", "nsfs"
    std::string root;  // the part of the file system that is seen there; on nsfs "net:[4026531840]"
    friend bool operator==(const HostMount&, const HostMount&) = default;
};

constexpr std::size_t most_mountinfo = std::size_t{64} * 1024 * 1024; // bytes in one table

// Returns the mounts in the table's order, the latest one last. Skips a line that is no mount.
std::vector<HostMount> read_mountinfo(std::string_view table);
// Says whether the mount keeps the network namespace with that inode number alive.
bool keeps_netns(const HostMount& mount, std::uint64_t inode);

} // namespace anchorhold::files
