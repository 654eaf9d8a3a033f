// SPDX-License-Identifier: Apache-2.0
// The table /proc/PID/mountinfo (proc(5)). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::state {

struct HostMount {
    std::string place; // where it is mounted
    std::string type;
    std::string root; // what of the file system is seen there; of nsfs, "net:[4026531840]"
    friend bool operator==(const HostMount&, const HostMount&) = default;
};

constexpr std::size_t most_mountinfo = std::size_t{64} * 1024 * 1024; // bytes of a table

// In the table's order, the latest last; lines that are none are passed over.
std::vector<HostMount> read_mountinfo(std::string_view table);
// Is it a mount of that network namespace?
bool keeps_netns(const HostMount& mount, std::uint64_t inode);

} // namespace anchorhold::state
