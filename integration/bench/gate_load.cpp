// SPDX-License-Identifier: Apache-2.0
// gate-load serve ADDRESS PORT | MEASURE ADDRESS PORT [NAME]: one end of what the gate carries, in
// the network namespace that it is started in. It prints one figure: MiB/s, or the microseconds
// that a tenth of the tries stayed below.
#include "load.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <netinet/in.h>
#include <string_view>
#include <unistd.h>

namespace bench {
namespace {

constexpr std::size_t bulk_amount = 96 << 20;
constexpr unsigned tries = 12; // a gate dials fifty times a second

Address address_of(const char* address, const char* port)
{
    Address made = tcp_address(static_cast<std::uint16_t>(std::atoi(port)));
    sockaddr_in name = {};
    std::memcpy(&name, &made.storage, sizeof name);
    if (inet_pton(AF_INET, address, &name.sin_addr) != 1)
        std::exit(2);
    std::memcpy(&made.storage, &name, sizeof name);
    return made;
}

template <typename Action> double tenth(unsigned count, Action action)
{
    std::vector<double> times;
    while (times.size() < count) {
        const double begin = now();
        if (!action())
            std::exit(1);
        times.push_back(now() - begin);
    }
    std::ranges::sort(times);
    return times[times.size() / 10];
}

double no_cpu(pid_t)
{
    return 0;
}

double bulk(const Address& to, Kind direction)
{
    return measure_bulk(to, direction, 1, bulk_amount, 0, no_cpu).rate;
}

double echo(const Address& to)
{
    return measure_echo(to, 1, 0.1e6, 0, no_cpu).p10;
}

double set_up(const Address& to)
{
    return tenth(tries, [&] { return answers(to); });
}

// One look-up after the other of a name, for its A record.
double look_up(const Address& to, std::string_view name)
{
    std::string query("AB\1\0\0\1\0\0\0\0\0\0", 12);
    while (!name.empty()) {
        const std::string_view label = name.substr(0, name.find('.'));
        query += static_cast<char>(label.size());
        query += label;
        name.remove_prefix(std::min(name.size(), label.size() + 1));
    }
    query.append("\0\0\1\0\1", 5);
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&to.storage), to.size) != 0)
        std::exit(1);
    char reply[512];
    const double took = tenth(2000, [&] {
        return send(fd, query.data(), query.size(), 0) == static_cast<ssize_t>(query.size()) &&
               recv(fd, reply, sizeof reply, 0) > 12;
    });
    close(fd);
    return took;
}

double measure(std::string_view what, const Address& to, const char* name)
{
    if (what == "down" || what == "up")
        return bulk(to, what == "down" ? Kind::down : Kind::up);
    if (what == "echo")
        return echo(to);
    if (what == "chunk")
        return measure_ticks(to, 40).p10;
    return name == nullptr ? set_up(to) : look_up(to, name);
}

} // namespace
} // namespace bench

int main(int argc, char** argv)
{
    if (argc < 4)
        return 2;
    const bench::Address address = bench::address_of(argv[2], argv[3]);
    if (std::string_view(argv[1]) == "serve")
        bench::serve({address});
    std::printf("%.2f\n", bench::measure(argv[1], address, argv[4]));
    return 0;
}
