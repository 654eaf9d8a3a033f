// SPDX-License-Identifier: Apache-2.0
// A bound on how often something is done: so many at once, and so many a second from then on.
#pragma once

#include <cstdint>

namespace anchorhold::gate {

class Pace {
public:
    Pace(std::int64_t burst, std::int64_t a_second)
        : most_(burst * 1000), a_millisecond_(a_second), left_(most_)
    {
    }
    // Takes one turn; false: it is not due yet. `now` is in milliseconds and never goes back.
    bool take(std::int64_t now)
    {
        fill(now);
        if (left_ < 1000)
            return false;
        left_ -= 1000;
        return true;
    }
    // Returns when the next turn is due, at `now` or later.
    std::int64_t due(std::int64_t now)
    {
        fill(now);
        return left_ >= 1000 ? now : now + (1000 - left_ + a_millisecond_ - 1) / a_millisecond_;
    }

private:
    void fill(std::int64_t now)
    {
        if (now <= at_)
            return;
        const std::int64_t gone = now - at_;
        at_ = now;
        left_ = gone > most_ ? most_ : left_ + gone * a_millisecond_;
        left_ = left_ > most_ ? most_ : left_;
    }
    std::int64_t most_; // all in thousandths of a turn
    std::int64_t a_millisecond_;
    std::int64_t left_;
    std::int64_t at_ = 0;
};

} // namespace anchorhold::gate
