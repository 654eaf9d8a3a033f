// SPDX-License-Identifier: Apache-2.0
// A moment after which nothing is waited for any more. The runtime kills a hook that is too late;
// ours gives up before that, so that it can undo and say why.
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
    std::chrono::milliseconds left() const; // 0 when it has passed
    // Returns when `fd` can be read, or has ended; ETIMEDOUT at the deadline.
    Status wait_readable(int fd, std::string_view doing) const;

private:
    std::chrono::steady_clock::time_point end_;
};

} // namespace anchorhold::state
