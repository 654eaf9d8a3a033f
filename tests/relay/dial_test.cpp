// SPDX-License-Identifier: Apache-2.0
#include "relay/dial.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace anchorhold::relay::dial_test {

TEST_CASE("retries come quickly at first and then every fifty milliseconds")
{
    std::vector<int64_t> pauses;
    for (int64_t pause = 0; pauses.size() < 9;)
        pauses.push_back(pause = next_pause(pause));
    CHECK(pauses == std::vector<int64_t>{1, 2, 4, 8, 16, 32, 50, 50, 50});
}

TEST_CASE("who waits for a broker is served in the order of coming")
{
    Route route;
    Stream streams[3] = {};
    for (Stream& stream : streams)
        enqueue(route, stream);
    CHECK(route.tail == &streams[2]);
    CHECK(dequeue(route) == &streams[0]);
    CHECK_FALSE(streams[0].queued);
    enqueue(route, streams[0]);
    CHECK(dequeue(route) == &streams[1]);
    CHECK(dequeue(route) == &streams[2]);
    CHECK(dequeue(route) == &streams[0]);
    CHECK(route.head == nullptr);
    enqueue(route, streams[1]);
    CHECK(route.head == &streams[1]);
}

TEST_CASE("who was sent back to the line has its place in front of those who came later")
{
    Route route;
    Stream streams[3] = {};
    const int64_t since[] = {20, 30, 10};
    for (int at = 0; at < 3; ++at) {
        streams[at].since = since[at];
        enqueue(route, streams[at]);
    }
    CHECK(dequeue(route) == &streams[2]);
    CHECK(dequeue(route) == &streams[0]);
    CHECK(dequeue(route) == &streams[1]);
    CHECK(route.head == nullptr);
}

} // namespace anchorhold::relay::dial_test
