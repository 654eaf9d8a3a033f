// SPDX-License-Identifier: Apache-2.0
// The first message of a client.
#pragma once

#include "load.hpp"

namespace bench {

struct Order {
    Kind kind = Kind::echo;
    std::uint8_t nothing[7] = {};
    std::uint64_t amount = 0;
};
static_assert(sizeof(Order) == 16);

} // namespace bench
