// SPDX-License-Identifier: Apache-2.0
#include "relay/lost_broker.hpp"

#include <limits.h>
#include <signal.h>

namespace anchorhold::relay {
namespace {

int milliseconds_until(int64_t then, int64_t now)
{
    if (then <= now)
        return 0;
    return then - now < INT_MAX ? static_cast<int>(then - now) : INT_MAX;
}

bool is_away(Route& route)
{
    UniqueFd socket;
    return ask(route, socket) == Answer::away;
}

} // namespace

void LostBroker::open(Pump& pump, unsigned routes, pid_t command, int64_t after, int64_t grace)
{
    pump_ = &pump;
    routes_ = routes;
    command_ = command;
    after_ = after * 1000;
    grace_ = grace * 1000;
}

// A command that has just ended is reaped all the same.
int LostBroker::stop_in_time(int64_t now)
{
    if (killed_)
        return -1;
    if (now < kill_at_)
        return milliseconds_until(kill_at_, now);
    (void)kill(command_, SIGKILL);
    killed_ = true;
    return -1;
}

int LostBroker::tick()
{
    const int64_t now = now_milliseconds();
    if (route_ >= 0)
        return stop_in_time(now);
    int next = -1;
    for (unsigned at = 0; at < routes_; ++at) {
        Route& route = pump_->route(at);
        if (route.away_since == 0)
            continue;
        const int left = milliseconds_until(route.away_since + after_, now);
        if (left > 0) {
            next = next < 0 || left < next ? left : next;
        } else if (is_away(route)) { // else it has come back, and its time begins anew
            route_ = static_cast<int>(at);
            kill_at_ = now + grace_;
            (void)kill(command_, SIGTERM);
            return stop_in_time(now);
        }
    }
    return next;
}

} // namespace anchorhold::relay
