// SPDX-License-Identifier: Apache-2.0
// Policy "on_broker_lost": "stop". A broker is lost when a client found nobody listening, and so
// did we when we asked once more after the time the policy gives; a run that asks for nothing
// misses nothing, so nobody is asked before a client has been. Then the command gets TERM, and KILL
// after the grace; however it ends, the run's exit status is the relay's own 125.
#pragma once

#include "relay/pump.hpp"

#include <sys/types.h>

namespace anchorhold::relay {

class LostBroker {
public:
    // Times in seconds. `pump` and the command's process stay as long as this is asked.
    void open(Pump& pump, unsigned routes, pid_t command, int64_t after, int64_t grace);

    // To be called between two waits: milliseconds until it wants to be called again, -1 for never.
    int tick();
    // The route whose broker was lost, for which the command was stopped; -1: none.
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
    int asked_ = no_route; // whose broker has not answered yet
    int64_t ask_at_ = 0;
    UniqueFd question_;
    bool killed_ = false;
};

} // namespace anchorhold::relay
