// SPDX-License-Identifier: Apache-2.0
// The clients. What fails in a measurement ends the program: a figure of half a run is none.
#include "load.hpp"
#include "order.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/un.h>
#include <unistd.h>

namespace bench {
namespace {

constexpr std::size_t message_size = 128;
constexpr double bytes_in_mib = 1 << 20;
char scratch[256 << 10];

[[noreturn]] void fail(const char* what)
{
    std::fprintf(stderr, "relay bench: %s: %s\n", what, std::strerror(errno));
    std::exit(1);
}

int dial(const Address& to, Kind kind, std::uint64_t amount)
{
    const int fd = socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    constexpr int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); // on Unix it is no option
    const Order order = {kind, {}, amount};
    if (connect(fd, reinterpret_cast<const sockaddr*>(&to.storage), to.size) == 0 &&
        send(fd, &order, sizeof order, MSG_NOSIGNAL) == sizeof order)
        return fd;
    close(fd);
    return -1;
}

bool exchange(int fd, const char* bytes, std::size_t size)
{
    return send(fd, bytes, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size) &&
           recv(fd, scratch, size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

double quantile(std::vector<double>& values, double part)
{
    if (values.empty())
        fail("nothing was measured");
    const auto at = static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), values.begin() + at, values.end());
    return values[static_cast<std::size_t>(at)];
}

Small small_of(std::vector<double>& times, double took)
{
    const double count = static_cast<double>(times.size());
    return {quantile(times, 0.1), quantile(times, 0.5), quantile(times, 0.99), count / took * 1e6,
            0};
}

struct Client {
    int fd = -1;
    std::size_t left = 0;
    double sent_at = 0;
};

// The clients on one epoll instance, non-blocking.
class Clients {
public:
    Clients(const Address& to, Kind kind, unsigned count, std::size_t amount, std::uint32_t events)
        : epoll_(epoll_create1(EPOLL_CLOEXEC)), clients_(count)
    {
        for (Client& client : clients_) {
            client.fd = dial(to, kind, amount);
            client.left = amount;
            epoll_event event = {};
            event.events = events;
            event.data.ptr = &client;
            if (client.fd < 0 || epoll_ctl(epoll_, EPOLL_CTL_ADD, client.fd, &event) != 0)
                fail("connect");
        }
    }
    Clients(const Clients&) = delete;
    Clients& operator=(const Clients&) = delete;
    ~Clients()
    {
        for (const Client& client : clients_)
            close(client.fd);
        close(epoll_);
    }

    std::vector<Client>& all() { return clients_; }

    void watch(Client& client, std::uint32_t events) const
    {
        epoll_event event = {};
        event.events = events;
        event.data.ptr = &client;
        (void)epoll_ctl(epoll_, EPOLL_CTL_MOD, client.fd, &event);
    }

    template <typename Ready> void wait(Ready ready) const
    {
        epoll_event events[64];
        const int count = epoll_wait(epoll_, events, 64, 20'000);
        if (count <= 0)
            fail("nothing moves for 20 s");
        for (int at = 0; at < count; ++at)
            ready(*static_cast<Client*>(events[at].data.ptr));
    }

private:
    int epoll_;
    std::vector<Client> clients_;
};

// True when the client has all of it.
bool take(Client& client)
{
    const ssize_t size = recv(client.fd, scratch, sizeof scratch, MSG_DONTWAIT);
    if (size == 0 || (size < 0 && errno != EAGAIN))
        fail("read an answer");
    if (size > 0)
        client.left -= static_cast<std::size_t>(size);
    return client.left == 0;
}

void give(Client& client, const Clients& clients)
{
    while (client.left != 0) {
        const std::size_t size = std::min(client.left, sizeof scratch);
        const ssize_t sent = send(client.fd, scratch, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN)
            return;
        if (sent < 0)
            fail("write an upload");
        client.left -= static_cast<std::size_t>(sent);
    }
    clients.watch(client, EPOLLIN); // for the one byte that says it has arrived
}

bool was_answered(const Client& client)
{
    const ssize_t size = recv(client.fd, scratch, 1, MSG_DONTWAIT);
    if (size == 0 || (size < 0 && errno != EAGAIN))
        fail("read the answer to an upload");
    return size == 1;
}

void say(Client& client)
{
    client.sent_at = now();
    client.left = message_size;
    if (send(client.fd, scratch, message_size, MSG_NOSIGNAL) != message_size)
        fail("write a message");
}

} // namespace

Address unix_address(const std::string& path)
{
    Address address;
    sockaddr_un name = {};
    name.sun_family = AF_UNIX;
    path.copy(name.sun_path, sizeof name.sun_path - 1);
    std::memcpy(&address.storage, &name, sizeof name);
    address.size = sizeof name;
    return address;
}

Address tcp_address(std::uint16_t port)
{
    Address address;
    sockaddr_in name = {};
    name.sin_family = AF_INET;
    name.sin_port = htons(port);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::memcpy(&address.storage, &name, sizeof name);
    address.size = sizeof name;
    return address;
}

double now()
{
    timespec time = {};
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

Bulk measure_bulk(const Address& to, Kind direction, unsigned connections, std::size_t amount,
                  pid_t contender, CpuOf cpu_of)
{
    const double begin = now();
    const double cpu = cpu_of(contender);
    Clients clients(to, direction, connections, amount,
                    direction == Kind::down ? EPOLLIN : EPOLLIN | EPOLLOUT);
    unsigned done = 0;
    while (done < connections) {
        clients.wait([&](Client& client) {
            if (direction == Kind::down)
                done += take(client) ? 1 : 0;
            else if (client.left != 0)
                give(client, clients);
            else
                done += was_answered(client) ? 1 : 0;
        });
    }
    const double took = now() - begin;
    const double moved = static_cast<double>(amount) * connections / bytes_in_mib;
    return {moved / took * 1e6, (cpu_of(contender) - cpu) / 1e3 / (moved / 1024)};
}

Small measure_echo(const Address& to, unsigned connections, double duration, pid_t contender,
                   CpuOf cpu_of)
{
    Clients clients(to, Kind::echo, connections, 0, EPOLLIN);
    for (Client& client : clients.all())
        say(client);
    const double cpu = cpu_of(contender);
    const double begin = now();
    std::vector<double> times;
    while (now() - begin < duration) {
        clients.wait([&](Client& client) {
            if (!take(client))
                return;
            times.push_back(now() - client.sent_at);
            say(client);
        });
    }
    Small small = small_of(times, now() - begin);
    small.cpu = (cpu_of(contender) - cpu) / static_cast<double>(times.size());
    return small;
}

Small measure_set_up(const Address& to, double duration)
{
    std::vector<double> times;
    const double begin = now();
    while (now() - begin < duration) {
        const double each = now();
        if (!answers(to))
            fail("open a connection");
        times.push_back(now() - each);
    }
    return small_of(times, now() - begin);
}

Small measure_ticks(const Address& to, unsigned chunks)
{
    const int fd = dial(to, Kind::ticks, chunks);
    std::vector<double> times;
    const double begin = now();
    while (times.size() < chunks) {
        std::int64_t sent = 0;
        if (recv(fd, &sent, sizeof sent, MSG_WAITALL) != sizeof sent)
            fail("read a chunk");
        times.push_back(now() - static_cast<double>(sent) / 1e3);
    }
    close(fd);
    return small_of(times, now() - begin);
}

bool hold(const Address& to, std::size_t count, std::vector<int>& connections)
{
    while (connections.size() < count) {
        const int fd = dial(to, Kind::echo, 0);
        if (fd < 0)
            return false;
        connections.push_back(fd);
        if (!exchange(fd, "hi", 2))
            return false;
    }
    return true;
}

bool answers(const Address& to)
{
    const int fd = dial(to, Kind::echo, 0);
    const bool answered = fd >= 0 && exchange(fd, "hi", 2);
    close(fd);
    return answered;
}

} // namespace bench
