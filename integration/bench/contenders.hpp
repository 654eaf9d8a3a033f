// SPDX-License-Identifier: Apache-2.0
// The contenders that are measured: nobody in between, over TCP and over the Unix socket, and
// relays from a TCP port to that socket, each set up as well as it can be.
#pragma once

#include "load.hpp"

#include <string>
#include <vector>

namespace bench {

struct Memory { // KiB
    double pss = 0;
    double anonymous = 0; // what is the process's own, and not of a file that others map too
    double cgroup = 0;    // with what the kernel holds for it; 0: no such cgroup here
};

struct Contender {
    std::string name;
    Address address;
    std::vector<std::string> command; // none: there is nobody in between
    bool takes_socket = false;        // is given its listening socket, as systemd does
    bool is_alone = false;            // its child is the command it runs, not a part of it
    std::size_t most_connections = 0; // it is asked for
    std::string cgroup = {};          // directory
    pid_t pid = 0;
};

// Their files go to `directory`, where the broker's sockets lie as well. Who is not installed is
// named on stdout and left out. With `older`, other builds of the relay, these alone contend.
std::vector<Contender> find_contenders(const std::string& directory, std::size_t most_connections,
                                       const std::vector<std::string>& older);

std::string broker_path(const std::string& directory);
constexpr std::uint16_t broker_port = 7000;

void start(Contender& contender); // until it answers
void stop(Contender& contender);
void name_cgroups(pid_t run); // before the first start
void remove_cgroups();        // that an interrupted run has left

double cpu_of(pid_t root); // microseconds, of a process and those it started; 0 for 0
Memory memory_of(const Contender& contender);

// Milliseconds from before fork and exec until it can be connected to.
double time_to_listen(Contender& contender);

} // namespace bench
