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

constexpr int64_t pending_pause = 50; // milliseconds until the same question is asked again
constexpr int64_t refused_pause = 1000;

} // namespace

void LostBroker::open(Pump& pump, unsigned routes, pid_t command, int64_t after, int64_t grace)
{
    pump_ = &pump;
    routes_ = routes;
    command_ = command;
    after_ = after * 1000;
    grace_ = grace * 1000;
}

// Sends KILL when it is due. A command that has just ended is not yet reaped, so its pid is still
// its own.
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

// Asks the broker itself when the time is over, and stops the command if nobody listens. Returns
// the milliseconds until it is to be called again. A broker that answers is not away any more.
int LostBroker::ask_at_last(int at, int64_t now)
{
    if (asked_ == at && now < ask_at_)
        return milliseconds_until(ask_at_, now);
    const Answer answer = ask(pump_->route(static_cast<unsigned>(at)), question_);
    const bool is_open = answer == Answer::pending || answer == Answer::refused;
    asked_ = is_open ? at : no_route;
    ask_at_ = now + (answer == Answer::pending ? pending_pause : refused_pause);
    if (answer != Answer::pending)
        question_ = UniqueFd();
    if (is_open)
        return milliseconds_until(ask_at_, now);
    if (answer == Answer::away) {
        route_ = at;
        kill_at_ = now + grace_;
        (void)kill(command_, SIGTERM);
    }
    return 0;
}

int LostBroker::tick()
{
    const int64_t now = now_milliseconds();
    if (route_ >= 0)
        return stop_in_time(now);
    int next = -1;
    for (unsigned at = 0; at < routes_; ++at) {
        const Route& route = pump_->route(at);
        if (route.away_since == 0)
            continue;
        int left = milliseconds_until(route.away_since + after_, now);
        if (left == 0 && (asked_ == no_route || asked_ == static_cast<int>(at)))
            left = ask_at_last(static_cast<int>(at), now);
        if (route_ >= 0)
            return stop_in_time(now);
        if (route.away_since != 0 && left > 0)
            next = next < 0 || left < next ? left : next;
    }
    return next;
}

} // namespace anchorhold::relay
