// SPDX-License-Identifier: Apache-2.0
// The owner of a file descriptor. A function that takes one by value takes it over; a function that
// only uses one takes an int. C headers only, because the relay uses this file too and links no
// libstdc++.
#pragma once

#include <unistd.h>

namespace anchorhold {

class [[nodiscard]] UniqueFd {
public:
    UniqueFd() noexcept = default;
    explicit UniqueFd(int fd) noexcept : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
    UniqueFd& operator=(UniqueFd other) noexcept
    {
        const int mine = fd_;
        fd_ = other.fd_;
        other.fd_ = mine;
        return *this;
    }
    ~UniqueFd()
    {
        if (fd_ >= 0)
            ::close(fd_); // close(2), NOTES: on Linux the number is free even after EINTR
    }
    int get() const noexcept { return fd_; }
    int release() noexcept
    {
        const int fd = fd_;
        fd_ = -1;
        return fd;
    }
    explicit operator bool() const noexcept { return fd_ >= 0; }

private:
    int fd_ = -1;
};

} // namespace anchorhold
