// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/container_state.hpp"

#include "schema/json/json.hpp"

#include <array>
#include <cerrno>
#include <limits>
#include <unistd.h>

namespace anchorhold::state {

Result<ContainerState> parse_container_state(std::string text)
{
    json::Limits limits;
    limits.bytes = text.size();
    AH_TRY(const auto document,
           json::Document::parse(std::move(text), Code::network_setup_failed, limits),
           "read the container's state");
    AH_CHECK(document.root().object(), "read the container's state");
    ContainerState state;
    if (const auto id = document.root().find("id")) {
        AH_TRY(state.id, id->string(), "read the container's state");
    }
    if (const auto pid = document.root().find("pid")) {
        AH_TRY(const std::int64_t number, pid->integer(), "read the container's state");
        if (number < 0 || number > std::numeric_limits<pid_t>::max())
            return fail(Code::network_setup_failed, "read the container's state: pid out of range");
        state.pid = static_cast<pid_t>(number);
    }
    return state;
}

Result<std::string> read_to_end(int fd, std::size_t limit, const Deadline& deadline)
{
    std::string text;
    std::array<char, 65536> part;
    for (;;) {
        AH_CHECK(deadline.wait_readable(fd, "wait for the end of standard input"));
        const ssize_t got = ::read(fd, part.data(), part.size());
        if (got < 0 && errno != EINTR && errno != EAGAIN)
            return fail_errno("read standard input", errno);
        if (got == 0)
            return text;
        if (got > 0)
            text.append(part.data(), static_cast<std::size_t>(got));
        if (text.size() > limit)
            return fail_errno("read standard input", EFBIG);
    }
}

} // namespace anchorhold::state
