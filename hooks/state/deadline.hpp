// SPDX-License-Identifier: Apache-2.0
// A deadline is a moment after which the hook waits for nothing any more. The runtime kills a hook
// that takes too long. Our hook gives up before that, so that it can undo its work and say why.
#pragma once

#include "schema/error.hpp"

#include <chrono>

namespace anchorhold::state {

class Deadline {
public:
    explicit Deadline(std::chrono::milliseconds from_now)
        : end_(std::chrono::steady_clock::now() + from_now)
    {
    }
    // Returns the time that is left, 0 when the deadline has passed.
    std::chrono::milliseconds left() const;
    // Waits until `fd` can be read or has ended. The error at the deadline is ETIMEDOUT. `doing`
    // says in the error what was waited for.
    Status wait_readable(int fd, std::string_view doing) const;

private:
    std::chrono::steady_clock::time_point end_;
};

} // namespace anchorhold::state
