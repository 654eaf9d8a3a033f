// SPDX-License-Identifier: Apache-2.0
// relay-bench [ROUNDS [RELAY...]]: what a relay costs. Every round measures every contender once,
// in an order shuffled anew, so that what else the machine does, and what ran just before (which
// decides where the scheduler has left everybody: up to 20 us of a round trip), falls on all
// alike; printed are medians over the rounds, and of the ratios within a round. A round of small
// messages is short, so there are four for each of bulk. Figures to read, not a test: nothing
// fails for being slow. Needs root: it lives in network, mount and pid namespaces of its own,
// which take all of it along.
#include "contenders.hpp"
#include "load.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <net/if.h>
#include <numeric>
#include <random>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {
namespace {

constexpr std::size_t mebibyte = 1 << 20;
constexpr std::size_t most_connections = 9000;

struct Row {
    Bulk down, up, down16, up16;
    Small one, many, set_up, ticks;
};

struct Column {
    const char* name;
    const char* format;
    double (*value)(const Row&);
    bool is_direct; // those with nobody in between have it too
};

constexpr Column bulk_columns[] = {
    {"down", "%.0f", [](const Row& row) { return row.down.rate; }, true},
    {"down x16", "%.0f", [](const Row& row) { return row.down16.rate; }, true},
    {"up", "%.0f", [](const Row& row) { return row.up.rate; }, true},
    {"up x16", "%.0f", [](const Row& row) { return row.up16.rate; }, true},
    {"cpu down", "%.0f", [](const Row& row) { return row.down.cpu; }, false},
    {"cpu up", "%.0f", [](const Row& row) { return row.up.cpu; }, false},
    {"cpu up x16", "%.0f", [](const Row& row) { return row.up16.cpu; }, false},
};
constexpr Column small_columns[] = {
    {"p50", "%.1f", [](const Row& row) { return row.one.p50; }, true},
    {"p99", "%.0f", [](const Row& row) { return row.one.p99; }, true},
    {"p50 x64", "%.0f", [](const Row& row) { return row.many.p50; }, true},
    {"p99 x64", "%.0f", [](const Row& row) { return row.many.p99; }, true},
    {"set-up", "%.1f", [](const Row& row) { return row.set_up.p50; }, true},
    {"chunk", "%.1f", [](const Row& row) { return row.ticks.p50; }, true},
    {"cpu", "%.1f", [](const Row& row) { return row.one.cpu; }, false},
    {"cpu x64", "%.1f", [](const Row& row) { return row.many.cpu; }, false},
};

Row measure_large(const Contender& contender)
{
    const Address& to = contender.address;
    const pid_t pid = contender.pid;
    Row row;
    row.down = measure_bulk(to, Kind::down, 1, 192 * mebibyte, pid, cpu_of);
    row.up = measure_bulk(to, Kind::up, 1, 192 * mebibyte, pid, cpu_of);
    row.down16 = measure_bulk(to, Kind::down, 16, 12 * mebibyte, pid, cpu_of);
    row.up16 = measure_bulk(to, Kind::up, 16, 12 * mebibyte, pid, cpu_of);
    return row;
}

Row measure_small(const Contender& contender)
{
    const Address& to = contender.address;
    const pid_t pid = contender.pid;
    Row row;
    row.one = measure_echo(to, 1, 0.25e6, pid, cpu_of);
    row.many = measure_echo(to, 64, 0.25e6, pid, cpu_of);
    row.set_up = measure_set_up(to, 0.25e6);
    row.ticks = measure_ticks(to, 40);
    return row;
}

double median(std::vector<double> values)
{
    std::ranges::sort(values);
    return values.empty() ? 0 : values[values.size() / 2];
}

template <std::size_t Count>
void print_table(const char* title, const Column (&columns)[Count],
                 const std::vector<Contender>& contenders,
                 const std::vector<std::vector<Row>>& rows)
{
    std::printf("\n%s\n%-14s", title, "");
    for (const Column& column : columns)
        std::printf(" %13s", column.name);
    for (std::size_t who = 0; who < contenders.size(); ++who) {
        std::printf("\n%-14s", contenders[who].name.c_str());
        for (const Column& column : columns) {
            std::vector<double> values, ratios;
            for (std::size_t round = 0; round < rows[who].size(); ++round) {
                values.push_back(column.value(rows[who][round]));
                ratios.push_back(values.back() / column.value(rows[0][round]));
            }
            char text[32] = "-";
            char ratio[16] = "";
            if (column.is_direct || !contenders[who].command.empty())
                (void)snprintf(text, sizeof text, column.format, median(values));
            if (column.is_direct)
                (void)snprintf(ratio, sizeof ratio, " %.2fx", median(ratios));
            std::printf(" %13s", (std::string(text) + ratio).c_str());
        }
    }
    std::printf("\n");
}

std::vector<std::vector<Row>> measure(const std::vector<Contender>& contenders, unsigned rounds,
                                      Row (*measure_one)(const Contender&))
{
    std::vector<std::vector<Row>> rows(contenders.size(), std::vector<Row>(rounds));
    std::vector<std::size_t> order(contenders.size());
    std::iota(order.begin(), order.end(), 0);
    std::minstd_rand random; // the same orders in every run
    for (unsigned round = 0; round < rounds; ++round) {
        std::ranges::shuffle(order, random);
        for (const std::size_t who : order)
            rows[who][round] = measure_one(contenders[who]);
    }
    return rows;
}

void measure_speed(std::vector<Contender>& contenders, unsigned rounds)
{
    for (Contender& contender : contenders)
        start(contender);
    print_table("Bulk: MiB/s and of direct TCP; the relay's CPU in ms per GiB", bulk_columns,
                contenders, measure(contenders, rounds, measure_large));
    print_table(
        "128 bytes to and fro, a new connection, a chunk of a slow stream: us and of direct "
        "TCP; the relay's CPU in us per message",
        small_columns, contenders, measure(contenders, 4 * rounds, measure_small));
    for (Contender& contender : contenders)
        stop(contender);
}

// Measures on one processor. The scheduler has nothing to choose there, so only the work is left.
void measure_on_one_processor(std::vector<Contender>& contenders, unsigned rounds, pid_t broker)
{
    constexpr Column columns[] = {small_columns[0], small_columns[1]};
    cpu_set_t all, one;
    (void)sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0 && cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    }
    (void)sched_setaffinity(broker, sizeof one, &one);
    (void)sched_setaffinity(0, sizeof one, &one);
    for (Contender& contender : contenders)
        start(contender); // inherits it
    print_table("128 bytes to and fro, everybody on one processor: us and of direct TCP", columns,
                contenders, measure(contenders, 4 * rounds, [](const Contender& contender) {
                    Row row;
                    row.one = measure_echo(contender.address, 1, 0.1e6, contender.pid, cpu_of);
                    return row;
                }));
    for (Contender& contender : contenders)
        stop(contender);
    (void)sched_setaffinity(broker, sizeof all, &all);
    (void)sched_setaffinity(0, sizeof all, &all);
}

void print_memory(Contender& contender, std::size_t connections)
{
    std::vector<int> held;
    const bool all = hold(contender.address, connections, held);
    const Memory memory = memory_of(contender);
    char text[64];
    (void)snprintf(text, sizeof text, "%.0f / %.0f / %.0f%s", memory.anonymous, memory.pss,
                   memory.cgroup, all ? "" : " (refused)");
    std::printf(" %26s", text);
    for (const int fd : held)
        close(fd);
}

void measure_memory(std::vector<Contender>& contenders)
{
    std::printf("\nMemory in KiB: anonymous / proportional set size / cgroup with kernel\n%-14s",
                "connections");
    std::printf(" %26s %26s %26s\n", "0", "100", "9000 (socat: 1000)");
    for (Contender& contender : contenders) {
        if (contender.command.empty())
            continue;
        start(contender);
        std::printf("%-14s", contender.name.c_str());
        for (const std::size_t count :
             {std::size_t{0}, std::size_t{100}, contender.most_connections})
            print_memory(contender, count);
        std::printf("\n");
        stop(contender);
    }
}

void measure_start(std::vector<Contender>& contenders)
{
    struct stat file = {};
    std::printf("\nFrom fork to listening in ms, median and least; size of the program in KiB\n");
    for (Contender& contender : contenders) {
        if (contender.command.empty() || contender.takes_socket)
            continue;
        std::vector<double> times;
        for (int turn = 0; turn < 15; ++turn)
            times.push_back(time_to_listen(contender));
        (void)stat(contender.command[0].c_str(), &file);
        std::printf("%-14s %8.2f %8.2f %8ld\n", contender.name.c_str(), median(times),
                    *std::ranges::min_element(times), static_cast<long>(file.st_size / 1024));
    }
}

void raise_limits()
{
    rlimit files = {};
    (void)getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    const int ports = open("/proc/sys/net/ipv4/ip_local_port_range", O_WRONLY | O_CLOEXEC);
    (void)!write(ports, "10000 64999", 11); // of our own network namespace
    close(ports);
    ifreq loopback = {};
    std::strcpy(loopback.ifr_name, "lo");
    loopback.ifr_flags = IFF_UP;
    const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    (void)ioctl(any, SIOCSIFFLAGS, &loopback);
    close(any);
}

int run(unsigned rounds, const std::vector<std::string>& older)
{
    (void)mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    (void)mount("proc", "/proc", "proc", 0, nullptr);
    (void)mount("bench", "/mnt", "tmpfs", 0, nullptr);
    raise_limits();
    setvbuf(stdout, nullptr, _IOLBF, 0);
    const std::string directory = "/mnt";
    const pid_t broker = fork();
    if (broker == 0)
        serve({tcp_address(broker_port), unix_address(broker_path(directory))});
    std::vector<Contender> contenders = find_contenders(directory, most_connections, older);
    while (!answers(contenders[0].address) || !answers(contenders[1].address))
        (void)usleep(1000);
    measure_speed(contenders, rounds);
    measure_on_one_processor(contenders, rounds, broker);
    measure_memory(contenders);
    measure_start(contenders);
    return 0;
}

} // namespace
} // namespace bench

int main(int argc, char** argv)
{
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 7;
    if (rounds < 1 || unshare(CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID) != 0) {
        std::perror("relay-bench [ROUNDS [RELAY...]], as root");
        return 2;
    }
    bench::name_cgroups(getpid());
    const pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        std::exit(
            bench::run(static_cast<unsigned>(rounds), {argv + std::min(argc, 2), argv + argc}));
    }
    // Whatever ends it, its cgroups go with it.
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction action = {};
        action.sa_handler = [](int) {}; // interrupts the wait
        (void)sigaction(number, &action, nullptr);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child) {
        (void)kill(child, SIGKILL);
        (void)waitpid(child, &status, 0);
    }
    bench::remove_cgroups();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
