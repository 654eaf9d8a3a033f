// SPDX-License-Identifier: Apache-2.0
// What a runtime tells a hook on its standard input (runtime-spec runtime.md, "State").
#pragma once

#include "hooks/state/deadline.hpp"
#include "schema/error.hpp"

#include <cstddef>
#include <string>
#include <sys/types.h>

namespace anchorhold::state {

struct ContainerState {
    std::string id;
    pid_t pid = 0; // 0 when it is 0, and when there is none
    friend bool operator==(const ContainerState&, const ContainerState&) = default;
};

// crun and runc put in different members; those we do not need may be anything or absent.
Result<ContainerState> parse_container_state(std::string text);

// To the end, or the limit, or the deadline.
Result<std::string> read_to_end(int fd, std::size_t limit, const Deadline& deadline);

} // namespace anchorhold::state
