// SPDX-License-Identifier: Apache-2.0
// The policy "on_broker_lost": "stop". A broker is lost in two steps: a client found nobody
// listening, and we found nobody when we asked again after the time that the policy gives. Nobody
// is asked before a client has been there, because a run that asks for nothing misses nothing. Then
// the command gets TERM, and KILL after the grace. However it ends, the exit status of the run is
// the relay's own 125.
#pragma once

#include "relay/pump.hpp"

#include <sys/types.h>

namespace anchorhold::relay {

class LostBroker {
public:
    // Starts the watch. Times are in seconds. `pump` and the command's process must live as long as
    // this object is used.
    void open(Pump& pump, unsigned routes, pid_t command, int64_t after, int64_t grace);

    // Does what is due; to be called between two waits. Returns the milliseconds after which it is
    // to be called again; -1: never.
    int tick();
    // Returns the route whose broker was lost, for which the command was stopped; -1: none.
    int route() const { return route_; }

private:
    static constexpr int no_route = -1;
    int stop_in_time(int64_t now);
    int ask_at_last(int at, int64_t now);

    Pump* pump_ = nullptr;
    unsigned routes_ = 0;
    pid_t command_ = 0;
    int64_t after_ = 0; // milliseconds
    int64_t grace_ = 0;
    int64_t kill_at_ = 0;
    int route_ = no_route;
    int asked_ = no_route; // the route whose broker we asked and that has not answered yet
    int64_t ask_at_ = 0;
    UniqueFd question_;
    bool killed_ = false;
};

} // namespace anchorhold::relay
