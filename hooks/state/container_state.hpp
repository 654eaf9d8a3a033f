// SPDX-License-Identifier: Apache-2.0
// The container's state is what a runtime gives a hook on its standard input (runtime-spec
// runtime.md, "State").
#pragma once

#include "hooks/state/deadline.hpp"
#include "schema/error.hpp"

#include <cstddef>
#include <string>
#include <sys/types.h>

namespace anchorhold::state {

struct ContainerState {
    std::string id;
    pid_t pid = 0; // 0 also when the text names none
    friend bool operator==(const ContainerState&, const ContainerState&) = default;
};

// Reads the state. crun and runc write different members: those that we do not need may be absent,
// or hold anything.
Result<ContainerState> parse_container_state(std::string text);

// Reads `fd` to its end. The error is EFBIG after more than `limit` bytes, and ETIMEDOUT at the
// deadline. The caller keeps `fd`.
Result<std::string> read_to_end(int fd, std::size_t limit, const Deadline& deadline);

} // namespace anchorhold::state
