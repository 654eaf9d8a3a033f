// SPDX-License-Identifier: Apache-2.0
// anchorhold-relay, the first process of a confined container. It carries 127.0.0.1:PORT to a
// broker's Unix socket, or to a port of the host's end of the link, and is init for the command.
//
// If anything of its own fails, it prints one line and exits with 125, before the command has run.
// The cheap checks that tell most come first, those that need mounts last: arguments, fork, network
// namespace and mark (if given), listening, then the endpoints' directories, and in a run of the
// shim whether their brokers may be connected to. So the following command, called anywhere while
// PORT is in use, exits with 125 and names the port. That proves that the binary runs here:
//
//   anchorhold-relay --endpoint PORT=/any/thing -- true
//
// With --step-aside the command is process 1, and the relay a child that it does not see
// (init.hpp). Without an endpoint and without --dns there is nothing to serve: the relay looks at
// the network namespace and the mark, and then executes the command in its own place.
//
// The relay prints nothing once the command runs, because its descriptors are its own.
#include "relay/checks.hpp"
#include "relay/command.hpp"
#include "relay/dns_server.hpp"
#include "relay/init.hpp"
#include "relay/listener.hpp"
#include "relay/lost_broker.hpp"
#include "relay/names.hpp"
#include "relay/options.hpp"
#include "relay/pump.hpp"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace anchorhold::relay {
namespace {

constexpr int own_failure = 125;

// The state of the process. It is static, because events point into it. It is constinit, because an
// initialiser that runs would write to pages that are zero for free.
constinit Options options = {};
constinit Pump pump;
constinit Init init;
constinit DnsServer dns;
constinit NameCounts names;
constinit LostBroker lost;
constinit UniqueFd directories[max_endpoints];

int refuse(const Failure& failure)
{
    Line line;
    line.add("anchorhold-relay: ");
    describe(failure, line);
    line.print(STDERR_FILENO);
    return own_failure;
}

Failure listen_for(const Endpoint& endpoint, Route& route)
{
    constexpr const char* listening = "listen on 127.0.0.1 for endpoint";
    UniqueFd v4;
    const int number = open_listener(Loopback::v4, Transport::tcp, endpoint.port, v4);
    if (number != 0)
        return {.doing = listening, .subject = endpoint.text, .number = number};
    if (const Failure failed = pump.add_listener(UniqueFd(v4.release()), route))
        return failed;
    UniqueFd v6;
    if (open_listener(Loopback::v6, Transport::tcp, endpoint.port, v6) != 0)
        return {}; // IPv6 may be missing in part or whole; agents are told 127.0.0.1
    return pump.add_listener(UniqueFd(v6.release()), route);
}

Failure find_target(unsigned number, uint32_t gateway)
{
    const Endpoint& endpoint = options.endpoints[number];
    Target& target = pump.route(number).target;
    if (endpoint.host_port == 0) {
        target.socket = endpoint.socket;
        const Failure failed = open_directory(endpoint, directories[number]);
        target.directory = directories[number].get();
        return failed;
    }
    if (gateway == 0) {
        return {.doing = "check endpoint",
                .subject = endpoint.text,
                .why = "this run has no link to the host"};
    }
    target.address.sin_family = AF_INET;
    target.address.sin_port = htons(endpoint.host_port);
    target.address.sin_addr.s_addr = gateway;
    return {};
}

// Refuses a socket that may not be connected to. It looks like any other: only connect(2) asks the
// host's security modules (security(7): unix_stream_connect). Here it does not matter whether
// somebody listens.
Failure try_broker(const Endpoint& endpoint, const Target& target)
{
    UniqueFd socket;
    if (dial(target, socket) != Answer::refused || (errno != EACCES && errno != EPERM))
        return {};
    return {.doing = "connect for endpoint",
            .subject = endpoint.text,
            .why = "the broker's socket does not let this user in: its mode, or a security module "
                   "of the host"};
}

// Tries every broker, with the rights that are left, as later connections do.
Failure try_brokers()
{
    for (unsigned at = 0; at < options.endpoint_count; ++at) {
        const Endpoint& endpoint = options.endpoints[at];
        if (endpoint.host_port != 0)
            continue;
        if (const Failure failed = try_broker(endpoint, pump.route(at).target))
            return failed;
    }
    return {};
}

Failure serve_endpoints(uint32_t gateway)
{
    static_assert(max_endpoints <= max_routes);
    for (unsigned at = 0; at < options.endpoint_count; ++at) {
        if (const Failure failed = listen_for(options.endpoints[at], pump.route(at)))
            return failed;
    }
    for (unsigned at = 0; at < options.endpoint_count; ++at) {
        if (const Failure failed = find_target(at, gateway))
            return failed;
    }
    return {};
}

Failure set_up(int epoll, const Start& start)
{
    if (const Failure failed = check_namespace(options))
        return failed;
    uint32_t gateway = 0;
    if (const Failure failed = check_mark(options, gateway))
        return failed;
    if (!options.step_aside) {
        if (const Failure failed = init.open(epoll, start.command))
            return failed;
    }
    if (const Failure failed = pump.open(epoll))
        return failed;
    if (const Failure failed = serve_endpoints(gateway))
        return failed;
    if (options.dns)
        dns.open(epoll, names);
    if (const Failure failed = drop_privileges())
        return failed;
    return options.inside != nullptr ? try_brokers()
                                     // Called by hand, so nobody checked the brokers before.
                                     : Failure{};
}

// Returns the shorter of two times to wait; -1 is for ever.
int sooner(int one, int other)
{
    return one < 0 || (other >= 0 && other < one) ? other : one;
}

int tell_of_lost(int log)
{
    const Endpoint& endpoint = options.endpoints[lost.route()];
    Line line;
    line.add("anchorhold-relay: broker lost: nobody has listened for endpoint ")
        .add_quoted(endpoint.text)
        .add(" for ")
        .add_number(options.lost_after)
        .add(" s, so the command was stopped");
    pollfd room = {log, POLLOUT, 0};
    // Otherwise a reader that stalls would block us.
    if (poll(&room, 1, 0) == 1 && (room.revents & POLLOUT) != 0)
        line.print(log);
    return own_failure;
}

int run_relay(Start& start, char* name)
{
    if (options.step_aside)
        step_aside(name);
    leave_inheritance(start);
    const UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
    const Failure failed = epoll ? set_up(epoll.get(), start)
                                 : Failure{.doing = "create an epoll instance", .number = errno};
    if (failed) {
        const int status = refuse(failed);
        give_word(start, Word::refused);
        return status;
    }
    UniqueFd log; // kept for the one message that may come later
    if (options.stop_when_lost) {
        log = UniqueFd(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
        lost.open(pump, options.endpoint_count, start.command, options.lost_after,
                  options.lost_grace);
    }
    close_standard_descriptors();
    give_word(start, Word::go);
    while (!init.has_ended()) {
        const int pause = pump.tick();
        dispatch(epoll.get(), sooner(pause, lost.tick()));
    }
    return lost.route() < 0 ? init.exit_status() : tell_of_lost(log.get());
}

int execute_command()
{
    Line line;
    line.add("anchorhold-relay: ");
    const int status = execute(options.command, environ, line);
    line.print(STDERR_FILENO);
    return status;
}

int run_command(const Start& start)
{
    switch (await_word(start)) {
    case Word::go: break;
    case Word::refused: return own_failure;
    case Word::none:
        return refuse(
            {.doing = "start the command", .why = "the relay was killed before it could"});
    }
    char listen_pid[40];
    rename_listen_pid(environ, start.first, getpid(), listen_pid);
    return execute_command();
}

// Looks from inside, and becomes the command. Changes nothing of what the command finds: no signal,
// no descriptor, no limit, no capability.
int look_and_execute()
{
    uint32_t gateway = 0;
    if (const Failure failed = check_namespace(options))
        return refuse(failed);
    if (const Failure failed = check_mark(options, gateway))
        return refuse(failed);
    return execute_command();
}

int run(int argc, char** argv)
{
    if (const Failure wrong = parse_options(argc, argv, options))
        return refuse(wrong);
    if (options.version) {
        Line().add("anchorhold-relay " ANCHORHOLD_VERSION).print(STDOUT_FILENO);
        return 0;
    }
    if (options.endpoint_count == 0 && !options.dns)
        return look_and_execute();
    if (options.names != 0)
        names.open(options.names);
    fill_standard_descriptors();
    Start start;
    if (const Failure failed = options.step_aside ? fork_relay(start) : fork_command(start))
        return refuse(failed);
    return start.role == Role::command ? run_command(start) : run_relay(start, argv[0]);
}

} // namespace
} // namespace anchorhold::relay

int main(int argc, char** argv)
{
    return anchorhold::relay::run(argc, argv);
}
