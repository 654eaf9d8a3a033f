// SPDX-License-Identifier: Apache-2.0
// The table /proc/PID/mountinfo (proc(5)). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace anchorhold {

struct HostMount {
    std::string place; // where it is mounted
    std::string type;
    friend bool operator==(const HostMount&, const HostMount&) = default;
};

// In the table's order, the latest last; lines that are none are passed over.
std::vector<HostMount> read_mountinfo(std::string_view table);

} // namespace anchorhold
