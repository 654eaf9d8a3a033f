// SPDX-License-Identifier: Apache-2.0
// Both ends of what a relay carries: a broker, and clients that measure. A connection opens with
// one Order, the same for every contender; sizes are bytes, times microseconds unless said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <sys/socket.h>
#include <sys/types.h>
#include <vector>

namespace bench {

struct Address {
    sockaddr_storage storage = {};
    socklen_t size = 0;
};
Address unix_address(const std::string& path);
Address tcp_address(std::uint16_t port); // of 127.0.0.1

enum class Kind : std::uint8_t {
    echo,  // what comes is sent back
    down,  // `amount` bytes are sent
    up,    // `amount` bytes are read, then one is sent
    ticks, // `amount` chunks, each the CLOCK_MONOTONIC of its sending in ns, every 5 ms
};

// Serves both for ever, in one thread.
[[noreturn]] void serve(const std::vector<Address>& listen_at);

double now(); // microseconds

struct Bulk {
    double rate = 0; // MiB/s
    double cpu = 0;  // the contender's, ms per GiB
};
// `cpu_of` tells the contender's CPU time so far in microseconds.
using CpuOf = double (*)(pid_t);
Bulk measure_bulk(const Address& to, Kind direction, unsigned connections, std::size_t amount,
                  pid_t contender, CpuOf cpu_of);

struct Small {
    double p10 = 0;
    double p50 = 0;
    double p99 = 0;
    double rate = 0; // per second
    double cpu = 0;  // the contender's, per message
};
// 128 bytes to and fro, one on the way per connection.
Small measure_echo(const Address& to, unsigned connections, double duration, pid_t contender,
                   CpuOf cpu_of);
// Connect, 2 bytes to and fro, close.
Small measure_set_up(const Address& to, double duration);
// From a chunk's sending to its arrival.
Small measure_ticks(const Address& to, unsigned chunks);

// Opens connections until there are `count`, each tried to and fro: false when one was refused.
bool hold(const Address& to, std::size_t count, std::vector<int>& connections);
bool answers(const Address& to); // one connection, tried

} // namespace bench
