// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/deadline.hpp"

#include <algorithm>
#include <cerrno>
#include <poll.h>

namespace anchorhold::state {

std::chrono::milliseconds Deadline::left() const
{
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end_ - std::chrono::steady_clock::now());
    return std::max(left, std::chrono::milliseconds(0));
}

Status Deadline::wait_readable(int fd, std::string_view doing) const
{
    for (;;) {
        pollfd waited = {fd, POLLIN, 0};
        const int ready = ::poll(&waited, 1, static_cast<int>(left().count()));
        if (ready > 0)
            return {};
        if (ready == 0)
            return fail_errno(doing, ETIMEDOUT);
        if (errno != EINTR)
            return fail_errno(doing, errno);
    }
}

} // namespace anchorhold::state
